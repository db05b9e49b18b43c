// How long SillyTavern waits for the interceptor: real turns of a chat, with 1,000 entries, warm.
import { importBook, expect, model, test } from './kit.js';

const TURNS = 120;
/** The first turns fill caches. */
const COLD = 20;

const PLACES = ['harbour', 'causeway', 'belfry', 'market', 'sea wall', 'mill', 'chapel', 'quay'];
const ENTRIES = Array.from({ length: 1000 }, (_, at) => ({
  comment: `Place ${at}`,
  key: [`${PLACES[at % PLACES.length]} ${at}`, `street ${at}`],
  content: `${PLACES[at % PLACES.length]} ${at} is known for its ropes, its bells and its tides.`,
  position: at % 2,
}));

const at = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];

test('interceptor', async ({ tavern }) => {
  test.setTimeout(900_000);
  await importBook('thousand', ENTRIES);
  await tavern.set({ mode: 'slots', deadline: 1500 });
  await tavern.character('Bench');
  await model({ set: { reply: 'So it is. We walk on, past nets and barrels.' } });
  const times = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const place = PLACES[turn % PLACES.length];
    await tavern.command(`/send I go to ${place} ${(turn * 7) % 1000} and to street ${turn}.`);
    await tavern.command('/trigger await=true');
    await tavern.idle();
    times.push(await tavern.page.evaluate(() => globalThis.loreloom.generations.took));
  }
  expect((await tavern.woven()).threads.length).toBeGreaterThan(0);
  const warm = times.slice(COLD).sort((one, other) => one - other);
  const figures = [0.5, 0.95, 1].map((share) => at(warm, share).toFixed(1));
  console.log(
    `interceptor, 1,000 entries, ${warm.length} warm turns: p50 ${figures[0]} ms, p95 ${figures[1]} ms, worst ${figures[2]} ms`,
  );
});
