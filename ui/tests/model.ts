// A model server that answers every question with the same words.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `id` names its only model; with `error` it refuses every question in those words. */
export async function model(
  reply = 'Somebody answers.',
  { id = 'm', error = '' } = {},
): Promise<{ address: string; stop: () => void }> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (data: Buffer) => (body += data.toString()));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      if (request.method === 'GET') {
        response.end(JSON.stringify({ object: 'list', data: [{ id, object: 'model' }] }));
        return;
      }
      if (error) {
        response.statusCode = 400;
        response.end(JSON.stringify({ error: { message: error, type: 'invalid_request_error' } }));
        return;
      }
      if ((JSON.parse(body || '{}') as { stream?: boolean }).stream) {
        response.setHeader('content-type', 'text/event-stream');
        response.write(
          `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', content: reply } }] })}\n\n`,
        );
        response.end(
          `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
        );
        return;
      }
      response.end(
        JSON.stringify({
          choices: [
            { index: 0, message: { role: 'assistant', content: reply }, finish_reason: 'stop' },
          ],
        }),
      );
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    stop: () => server.close(),
  };
}
