/** The program forge_client, which calls core/forge: a line each way. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export class Client {
  constructor() {
    this.child = spawn(process.env.FORGE_CLIENT, { stdio: ["pipe", "pipe", "inherit"] });
    this.child.stdin.on("error", () => {}); // it was killed
    this.waiting = [];
    this.ended = false;
    createInterface({ input: this.child.stdout }).on("line", (line) => this.waiting.shift()?.(JSON.parse(line)));
    this.exit = new Promise((done) => this.child.on("close", () => { this.ended = true; this.waiting.splice(0).forEach((w) => w(null)); done(); }));
  }

  /** The answer to a call; null: the program was killed. */
  call(line) {
    if (this.ended) return Promise.resolve(null);
    return new Promise((done) => { this.waiting.push(done); this.child.stdin.write(JSON.stringify(line) + "\n"); });
  }

  kill() { this.child.kill("SIGKILL"); }

  async close() {
    this.child.stdin.end();
    await this.exit;
  }
}

export const TOKENS = { github: "ghp_user", gitlab: "glpat-user", gitea: "gitea-user" };

export async function opened(forge, more = {}) {
  const client = new Client();
  const answer = await client.call({ do: "open", kind: forge.kind, url: forge.url, token: TOKENS[forge.kind], now: Math.floor(forge.now()), timeout_s: 20, ...more });
  if (answer?.code !== "OK") throw new Error(`open: ${JSON.stringify(answer)}`);
  return client;
}
