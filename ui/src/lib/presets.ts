// Ways of writing to begin with.

export const PRESETS = [
  { id: 'steady', values: { temperature: 0.5, top_p: 0.9, min_p: null } },
  { id: 'balanced', values: { temperature: 0.9, top_p: 1, min_p: 0.05 } },
  { id: 'wild', values: { temperature: 1.3, top_p: 1, min_p: 0.1 } },
] as const;
