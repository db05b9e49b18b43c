// The real server, for browser tests.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const BINARY =
  process.env.LORELOOM_BINARY ??
  fileURLToPath(new URL('../../target/debug/loreloom', import.meta.url));

/** What the demo prints when its story is told. */
const TOLD = 'What next?';

/** Starts the binary and gives the address that it prints, and a way to end it. */
export async function serve(...options: string[]): Promise<{ address: string; stop: () => void }> {
  if (!existsSync(BINARY)) throw new Error(`the server is not built: ${BINARY}`);
  const server = spawn(BINARY, options, { stdio: ['ignore', 'pipe', 'inherit'] });
  const address = await new Promise<string>((resolve, reject) => {
    let said = '';
    server.stdout.on('data', (data: Buffer) => {
      said += data.toString();
      const found = /(http:\/\/[\d.]+:\d+)/.exec(said);
      if (found && (options[0] !== 'demo' || said.includes(TOLD))) resolve(found[1]!);
    });
    server.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
  server.removeAllListeners('exit');
  return { address, stop: () => server.kill('SIGTERM') };
}
