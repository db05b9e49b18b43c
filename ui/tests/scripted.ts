// A model server that says what it is told to say next, and keeps what it was asked.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  model?: string;
  temperature?: number;
  messages: { role: string; content: string }[];
}

type Answer = (response: ServerResponse) => void;

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', content } }] })}\n\n`;
const END = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;

export class ScriptedModel {
  private readonly answers: Answer[] = [];
  private readonly asked: Asked[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<ScriptedModel> {
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (data: Buffer) => (body += data.toString()));
      request.on('end', () => {
        response.setHeader('content-type', 'application/json');
        if (request.method === 'GET') {
          const data = [{ id: 'scripted-1', object: 'model', owned_by: 'scripted' }];
          response.end(JSON.stringify({ object: 'list', data }));
          return;
        }
        // Other questions, such as how large the context is, have no answer.
        if (!request.url?.endsWith('/chat/completions')) {
          response.writeHead(404).end('{}');
          return;
        }
        own.asked.push(JSON.parse(body) as Asked);
        const answer = own.answers.shift();
        if (answer) answer(response);
        else response.writeHead(500).end('{"error":{"message":"nothing to say"}}');
      });
    });
    const own = new ScriptedModel(server);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return own;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  say(text: string): void {
    this.answers.push((response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(chunk(text));
      response.end(END);
    });
  }

  /** Begins a reply that does not end by itself. */
  begin(text: string): void {
    this.answers.push((response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(chunk(text));
    });
  }

  fail(status: number, message: string): void {
    this.answers.push((response) => {
      response.writeHead(status).end(JSON.stringify({ error: { message } }));
    });
  }

  last(): Asked {
    return this.asked.at(-1)!;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
