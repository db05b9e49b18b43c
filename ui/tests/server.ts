// The real server with the demo world, for all browser tests.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const BINARY = process.env.LORELOOM_BINARY ?? fileURLToPath(new URL('../../target/debug/loreloom', import.meta.url));

export default async function start(): Promise<() => void> {
  if (!existsSync(BINARY)) throw new Error(`the server is not built: ${BINARY}`);
  const server = spawn(BINARY, ['demo', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const address = await new Promise<string>((resolve, reject) => {
    let said = '';
    server.stdout.on('data', (data: Buffer) => {
      said += data.toString();
      const found = /connect to:\s+(http:\S+)\/v1/.exec(said);
      if (found) resolve(found[1]!);
    });
    server.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
  server.removeAllListeners('exit');
  process.env.LORELOOM_URL = address;
  return () => {
    server.kill('SIGTERM');
  };
}
