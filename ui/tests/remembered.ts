// A story that is remembered in every tier, without a model: read in as Smart Memory's data.
import { json } from './kit';

export const CHAT = 'harbour night';

export const TOLD: [string, string][] = [
  ['Orla', 'The tide is late tonight, and the causeway lamps are out.'],
  ['Mira', 'I owe you the oil. I will bring it.'],
  ['Orla', 'Then bring it by the spring tide. The ferryman will not wait twice.'],
  ['Mira', 'I promise. What happened to the bell rope?'],
  ['Orla', 'It was untied, not cut. Somebody knew the knot.'],
  ['Mira', 'Halven knows knots. He kept the light before the flood.'],
  ['Orla', 'Halven is dead, or so the harbour book says.'],
  ['Mira', 'Then who signs the book in his hand?'],
  ['Orla', 'Keep your voice down. The excise men drink here.'],
  ['Mira', 'Let them. I am going to the tower at low water.'],
];

interface Tree {
  nodes: { message: string; number: number }[];
}

/** Makes the story and all it remembers; `mark` goes into every text. */
export async function remembered(mark = ''): Promise<void> {
  const post = (path: string, body: unknown) =>
    json(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const messages = TOLD.map(([name, content], at) => ({
    role: at % 2 ? 'user' : 'assistant',
    name,
    content: content + mark,
  }));
  await post('/chats', { id: CHAT, title: `Harbour night${mark}`, messages });
  const tree = await json<Tree>(`/chats/${encodeURIComponent(CHAT)}/tree`);
  const at = (...numbers: number[]) =>
    tree.nodes.filter((node) => numbers.includes(node.number)).map((node) => node.message);
  const memory = (id: string, content: string, numbers: number[], more: object = {}) => ({
    id,
    type: 'fact',
    content: content + mark,
    importance: 2,
    consolidated: true,
    receipts: at(...numbers),
    source_messages: [],
    ...more,
  });
  await post('/memory/import', {
    characters: {
      Orla: {
        memories: [
          memory('o1', 'The bell rope was cut.', [3], { superseded_by: 'o2' }),
          memory('o2', 'The bell rope was untied by somebody who knew the knot.', [5], {
            importance: 3,
            supersedes: ['o1'],
            confirmations: 2,
            witnessed_by: ['Orla', 'Mira'],
          }),
          memory('o3', 'Mira owes Orla lamp oil, due by the spring tide.', [2, 3], {
            type: 'relationship',
            confirmations: 1,
          }),
          memory('o4', 'Halven kept the light before the flood.', [6], { unverified: true }),
          memory('o5', 'The harbour book is signed in Halven’s hand.', [8], { importance: 3 }),
        ],
        entities: [
          {
            id: 'e1',
            name: `Mira${mark}`,
            type: 'character',
            aliases: ['the runner'],
            memory_ids: ['o2', 'o3'],
            first_seen: 0,
            last_seen: 9,
          },
          {
            id: 'e2',
            name: 'Halven',
            type: 'character',
            aliases: [],
            memory_ids: ['o4', 'o5'],
            first_seen: 5,
            last_seen: 8,
          },
          {
            id: 'e3',
            name: 'the bell rope',
            type: 'object',
            aliases: [],
            memory_ids: ['o1', 'o2'],
            first_seen: 3,
            last_seen: 5,
          },
        ],
        relationship_history: {
          'Orla→Mira': {
            descriptors: [
              { word: `wary${mark}`, magnitude: 'low' },
              { word: 'fond', magnitude: 'high' },
            ],
            updated_at: 1,
          },
          'Mira→Orla': { descriptors: [{ word: 'in debt', magnitude: 'medium' }], updated_at: 1 },
        },
        epistemic_knowledge: [
          {
            id: 'k1',
            type: 'knows',
            subject: 'Orla',
            content: `The bell rope was untied.${mark}`,
            receipts: at(5),
          },
          {
            id: 'k2',
            type: 'suspects',
            subject: 'Mira',
            content: `The bell rope was untied.${mark}`,
            receipts: at(6),
          },
          {
            id: 'k3',
            type: 'believes',
            subject: 'the excise men',
            content: `The bell rope was untied.${mark}`,
            receipts: at(9),
          },
          {
            id: 'k4',
            type: 'hiding',
            subject: 'Orla',
            target: 'Mira',
            content: 'Halven is alive.',
            receipts: at(7),
          },
          {
            id: 'k5',
            type: 'unaware',
            subject: 'Mira',
            content: 'Halven is alive.',
            receipts: at(7),
          },
        ],
        persistent_arcs: [
          {
            content: `Who untied the bell rope?${mark}`,
            persistent: true,
            resolved: false,
            receipts: at(5),
          },
        ],
        canon: null,
      },
    },
  });
  await post(`/memory/import?chat=${encodeURIComponent(CHAT)}`, {
    smartMemory: {
      summary: `Mira runs oil for Orla, who keeps the harbour house. The causeway lamps are out, the bell rope was untied, and somebody signs the harbour book in a dead man’s hand.${mark}`,
      summaryEnd: 10,
      summaryUpdated: 1,
      sessionMemories: [
        { ...memory('s1', 'Excise men are drinking in the harbour house.', [9]), type: 'scene' },
        {
          ...memory('s2', 'Mira means to go to the tower at low water.', [10]),
          type: 'development',
          pinned: true,
        },
        { ...memory('s3', 'The causeway lamps are out.', [1]), type: 'detail', importance: 1 },
      ],
      sceneHistory: [
        {
          summary: `On the quay, Mira promises Orla the oil.${mark}`,
          ts: 1,
          source_memory_ids: [],
          receipts: at(1, 2, 3),
        },
        {
          summary: 'In the harbour house they talk about the rope and about Halven.',
          ts: 2,
          source_memory_ids: [],
          receipts: at(4, 5, 6, 7),
        },
      ],
      storyArcs: [
        {
          content: `Will Mira bring the oil in time?${mark}`,
          ts: 1,
          persistent: false,
          resolved: false,
          receipts: at(3),
        },
        {
          content: 'Who signs in Halven’s hand?',
          ts: 2,
          persistent: false,
          resolved: false,
          receipts: at(8),
        },
        {
          content: 'Where did the lamps’ oil go?',
          ts: 3,
          persistent: false,
          resolved: true,
          receipts: at(2),
        },
      ],
      arcSummaries: [
        {
          arc: 'The flood',
          summary: 'The flood took the old causeway; Halven was lost with it.',
          ts: 1,
          source_scene_ids: [],
          source_memory_ids: [],
        },
      ],
      profiles: {
        Orla: {
          character_state: `Tired, careful, keeps the harbour house.${mark}`,
          world_state: 'The causeway is dark.',
          relationship_matrix: 'Trusts Mira more than she says.',
        },
      },
      state_ledger: {
        'mira|character': {
          _name: `Mira${mark}`,
          location: 'the harbour house',
          mood: 'restless',
          active_goal: 'the tower at low water',
        },
        'orla|character': { _name: 'Orla', location: 'the harbour house', mood: 'wary' },
        'bell rope|object': { _name: 'bell rope', condition: 'untied', location: 'the tower' },
      },
      contradictions: [],
    },
  });
}

/** The next request of a front end for that story: the message and what the model answers become a turn. */
export async function asked(content: string): Promise<void> {
  const messages = [
    ...TOLD.map(([name, text], at) => ({
      role: at % 2 ? 'user' : 'assistant',
      name,
      content: text,
    })),
    { role: 'assistant', name: 'Orla', content: 'At low water the stones are slick.' },
    { role: 'user', name: 'Mira', content },
  ];
  const sent = await fetch(`${process.env.LORELOOM_URL}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages }),
  });
  if (!sent.ok) throw new Error(await sent.text());
  await sent.text();
}
