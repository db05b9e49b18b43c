// A scripted model server: it keeps each request of SillyTavern's and answers what the test says.
import { createServer } from 'node:http';

/**
 * Starts the server.
 * @returns {Promise<{url: string, requests: object[], reply: string, hold: boolean, stop: () => void}>}
 * `reply` is the next answers' text; with `hold` a stream stops before its last word
 */
export async function startModel() {
  const model = { requests: [], questions: [], reply: 'Somebody answers.', hold: false };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => (body += data));
    request.on('end', () => answer(model, request, response, body));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  model.url = `http://127.0.0.1:${server.address().port}/v1`;
  model.stop = () => server.close();
  return model;
}

function answer(model, request, response, body) {
  response.setHeader('content-type', 'application/json');
  // Tests run in another process than the server: they ask and script it over HTTP.
  if (request.url === '/script') {
    const script = JSON.parse(body || '{}');
    if (script.clear) model.requests.length = 0;
    Object.assign(model, script.set ?? {});
    response.end(JSON.stringify(model.requests));
    return;
  }
  if (request.method === 'GET') {
    response.end(JSON.stringify({ object: 'list', data: [{ id: 'm', object: 'model' }] }));
    return;
  }
  // Loreloom also asks what kind of server this is.
  if (!request.url.endsWith('/completions')) {
    response.statusCode = 404;
    response.end('{}');
    return;
  }
  const asked = JSON.parse(body || '{}');
  // Loreloom's memory asks the same model, without a name of a program.
  const isMemory = !request.headers['user-agent'];
  if (isMemory) model.questions.push(asked);
  else model.requests.push({ path: request.url, headers: request.headers, body: asked });
  const text = typeof model.reply === 'string' ? model.reply : 'Somebody answers.';
  const isText = 'prompt' in asked;
  if (!asked.stream) {
    const message = { role: 'assistant', content: text };
    const choice = isText ? { text } : { message };
    response.end(JSON.stringify({ choices: [{ index: 0, finish_reason: 'stop', ...choice }] }));
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  const part = (words) => {
    const choice = isText ? { text: words } : { delta: { role: 'assistant', content: words } };
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
  };
  const words = text.split(/(?<= )/);
  if (model.hold) {
    words.slice(0, -1).forEach(part);
    // A stream that is quiet would wait in the buffers on its way.
    const filler = setInterval(() => part(''), 50);
    response.on('close', () => clearInterval(filler));
    return;
  }
  words.forEach(part);
  response.end('data: [DONE]\n\n');
}
