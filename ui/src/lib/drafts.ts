// What is typed and not sent yet, by story. It is kept in this browser until it is sent.

const name = (chat: string): string => `loreloom.draft.${chat}`;

export function draft(chat: string): string {
  try {
    return window.localStorage.getItem(name(chat)) ?? '';
  } catch {
    return '';
  }
}

export function keepDraft(chat: string, text: string): void {
  try {
    if (text) window.localStorage.setItem(name(chat), text);
    else window.localStorage.removeItem(name(chat));
  } catch {
    // A browser that keeps nothing still lets people write.
  }
}
