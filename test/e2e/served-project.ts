import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const SVC_BIN = join(ROOT, 'kernel', 'bin', 'svc.cjs')

/** Contents of project files, by path. */
export type Files = Readonly<Record<string, string>>

/** Creates a folder with an `svc.toml`, in which plugins under `plugins/` find the SDK. Removes it after the test. */
export function makeProject(t: Test, files: Files): string {
  const folder = temporaryProject(files)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Like {@link makeProject}, but the caller removes it. */
export function temporaryProject(files: Files): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-e2e-')))
  writeFiles(folder, { 'svc.toml': '', ...files })
  mkdirSync(join(folder, 'node_modules', '@svc'), { recursive: true })
  for (const name of ['plugin-sdk', 'contracts', 'kernel']) {
    symlinkSync(join(ROOT, name), join(folder, 'node_modules', '@svc', name))
  }
  return folder
}

export function writeFiles(folder: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}

export function pluginPackage(name: string): string {
  return JSON.stringify({
    name: `svc-plugin-${name}`,
    version: '1.0.0',
    type: 'module',
    svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts' }
  })
}

export interface Served {
  readonly folder: string
  readonly url: string
  readonly child: ChildProcess
  readonly lines: string[]
  readonly ended: Promise<number | string>
  /** Resolves to the next matching log line, including existing lines after the index `from`. */
  line(pattern: RegExp, from?: number): Promise<string>
  /** Sends a request. If it fails because the server has ended, the error says how, with the last lines of its log. */
  request<A>(send: () => Promise<A>): Promise<A>
  stop(signal?: NodeJS.Signals): Promise<number | string>
}

/** A line that is missing for so long will not come, even on a busy machine. */
const MAX_LINE_WAIT_MS = 120_000
/** A request can fail some time before the end of the server is noticed. */
const MAX_END_WAIT_MS = 2000
const MAX_REPORTED_LINES = 30
const FREE_PORTS = ['plugins.http.port=0', 'plugins.daemon.socket=127.0.0.1:0']
/** Setting that is only passed if the plugin exists: an installation from packages may lack it. */
const FREE_MODEL_PORT = 'plugins.model-server.port=0'

/** Runs `svc serve` in a project on free ports. Resolves once it responds. `onLine` receives lines before that, too. */
export async function serve(
  t: Test,
  folder: string,
  argv: readonly string[] = [],
  program = SVC_BIN,
  env: Readonly<Record<string, string>> = {},
  onLine: (text: string) => void = () => {}
): Promise<Served> {
  const ports = program === SVC_BIN ? [...FREE_PORTS, FREE_MODEL_PORT] : FREE_PORTS
  const set = ports.flatMap(setting => ['--set', setting])
  const child = spawn(process.execPath, [program, 'serve', '--json', ...set, ...argv], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', ...env }
  })
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', text => {
      lines.push(text)
      onLine(text)
      for (const wake of waiting) wake()
    })
  }
  const line = (pattern: RegExp, from = 0): Promise<string> =>
    new Promise((resolve, reject) => {
      let at = from
      const fail = (why: string): void => reject(new Error(`${why} before ${pattern}:\n${lines.join('\n')}`))
      const timer = setTimeout(() => fail(`${MAX_LINE_WAIT_MS} ms passed`), MAX_LINE_WAIT_MS)
      const look = (): void => {
        for (; at < lines.length; at++) {
          if (!pattern.test(lines[at]!)) continue
          waiting.delete(look)
          clearTimeout(timer)
          resolve(lines[at]!)
          return
        }
      }
      waiting.add(look)
      look()
      void ended.then(how => {
        clearTimeout(timer)
        fail(`it ended with ${how}`)
      })
    })
  /** Resolves to a report once the server has ended and its log is complete. */
  const report = once(child, 'close').then(async () => {
    const last = lines.slice(-MAX_REPORTED_LINES)
    return `svc serve ended with ${await ended}; the last ${last.length} lines of its log:\n${last.join('\n')}`
  })
  void report.then(text => {
    if (!child.killed) t.comment(text)
  })
  const request = async <A>(send: () => Promise<A>): Promise<A> => {
    try {
      return await send()
    } catch (cause) {
      const waiting = new AbortController()
      const alive = sleep(MAX_END_WAIT_MS, null, { signal: waiting.signal }).catch(() => null)
      const text = await Promise.race([report, alive])
      waiting.abort()
      throw text === null ? cause : new Error(text, { cause })
    }
  }
  const listening = await line(/main listens on (http:\/\/[^\s"]+)/)
  await line(/"msg":"generation 1"/)
  return {
    folder,
    url: /main listens on (http:\/\/[^\s"]+)/.exec(listening)![1]!,
    child,
    lines,
    ended,
    line,
    request,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      return ended
    }
  }
}
