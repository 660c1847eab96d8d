import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Files, temporaryFolder, writeFiles } from './files.ts'

export interface SvcResult {
  /** Exit code, or name of the signal that ended the process. */
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

export interface ServedTestProject {
  /** Output of the server, line by line; logs are JSON. */
  readonly lines: readonly string[]
  /** URL of the HTTP listener `main`, or null if there is none. */
  readonly url: string | null
  stop(signal?: NodeJS.Signals): Promise<number | string>
}

export interface TestProject {
  readonly root: string
  write(files: Files): void
  /** Runs `svc` in the project and waits for its end. */
  svc(argv: readonly string[], stdin?: string): Promise<SvcResult>
  /** Starts `svc serve` on free ports and waits for its first generation. */
  serve(argv?: readonly string[]): Promise<ServedTestProject>
  until(condition: () => unknown): Promise<void>
  /** Stops all processes, and removes the folder. */
  close(): Promise<void>
}

export interface TestProjectOptions {
  /** Files of the project. Default: an empty `svc.toml`. */
  readonly files?: Files
  readonly env?: Readonly<Record<string, string>>
}

const PROGRAM = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url))
const FREE_PORTS = ['--set', 'plugins.http.port=0', '--set', 'plugins.daemon.socket=127.0.0.1:0']

/** Creates a project in a temporary folder for tests of `svc`. Its plugins can import the SDK and the contracts. */
export function openTestProject({ files = {}, env = {} }: TestProjectOptions = {}): TestProject {
  const root = temporaryFolder({ 'svc.toml': '', ...files })
  linkPackages(root)
  const running = new Set<() => Promise<unknown>>()
  const start = (argv: readonly string[]) => {
    const child = spawn(process.execPath, [PROGRAM, ...argv], {
      cwd: root,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', ...env }
    })
    // A command that does not read its input may end before all input is written.
    child.stdin.on('error', () => {})
    const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
    const kill = (): Promise<unknown> => {
      child.kill('SIGKILL')
      return ended
    }
    running.add(kill)
    void ended.then(() => running.delete(kill))
    return { child, ended }
  }
  return {
    root,
    write: changed => writeFiles(root, changed),
    async svc(argv, stdin = '') {
      const { child, ended } = start(argv)
      child.stdin.end(stdin)
      const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
      return { code, stdout, stderr }
    },
    async serve(argv = []) {
      const { child, ended } = start(['serve', '--json', ...FREE_PORTS, ...argv])
      child.stdin.end()
      const lines: string[] = []
      let over = false
      void ended.then(() => (over = true))
      for (const stream of [child.stdout, child.stderr]) {
        let rest = ''
        stream.setEncoding('utf8').on('data', (chunk: string) => {
          const parts = (rest + chunk).split('\n')
          rest = parts.pop() ?? ''
          lines.push(...parts)
        })
      }
      await until(() => over || lines.some(line => /"msg":"generation 1"/.test(line)))
      if (over) throw new Error(`svc serve ended with ${await ended}:\n${lines.join('\n')}`)
      const [, url = null] = /main listens on (http:\/\/[^\s"]+)/.exec(lines.join('\n')) ?? []
      const stop = (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> => {
        child.kill(signal)
        return ended
      }
      return { lines, url, stop }
    },
    until,
    async close() {
      await Promise.all([...running].map(kill => kill()))
      rmSync(root, { recursive: true, force: true })
    }
  }
}

async function until(condition: () => unknown): Promise<void> {
  while (!condition()) await sleep(10)
}

function linkPackages(root: string): void {
  const require = createRequire(import.meta.url)
  const folder = join(root, 'node_modules', '@svc')
  mkdirSync(folder, { recursive: true })
  for (const name of ['plugin-sdk', 'contracts', 'kernel'])
    symlinkSync(dirname(require.resolve(`@svc/${name}/package.json`)), join(folder, name))
}
