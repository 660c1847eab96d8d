import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import type { Test } from 'tap'
import { SVC_BIN } from '../../../test/e2e/served-project.ts'

/** Returns the reason why programs cannot be served; false if they can. */
export function unbuilt(): string | false {
  return existsSync(join(import.meta.dirname, '../runtime/manifest.json'))
    ? false
    : 'the build is missing: npm run build'
}

export interface DevServer {
  /** URL of the program, without a slash at its end. */
  readonly url: string
  readonly output: readonly string[]
  /** Resolves to the next line of output that matches, including earlier ones from the index `from`. */
  line(pattern: RegExp, from?: number): Promise<string>
}

/** Serves a program by `svc dev`, or another command, in another process on free ports. */
export async function serve(
  t: Test,
  folder: string,
  { file = 'app.vox', command = 'dev', settings = [] as readonly string[] } = {}
): Promise<DevServer> {
  return start(t, folder, [command, file, '--port', '0'], settings)
}

/** Serves the program that the configuration of the folder names, by `svc serve` with the settings of `svc dev`. */
export async function serveConfigured(t: Test, folder: string): Promise<DevServer> {
  const only = ['app-runtime', 'http', 'mcp', 'database', 'compiler', 'web']
  return start(
    t,
    folder,
    ['serve', '--only', only.join()],
    ['plugins.app-runtime.port=0', 'plugins.app-runtime.dev=true']
  )
}

async function start(
  t: Test,
  folder: string,
  command: readonly string[],
  settings: readonly string[]
): Promise<DevServer> {
  const set = ['plugins.http.port=0', 'plugins.app-runtime.database=memory', ...settings]
  const argv = [SVC_BIN, ...command, ...set.flatMap(each => ['--set', each])]
  const child = spawn(process.execPath, argv, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' }
  })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', line => output.push(line))
  const line = async (pattern: RegExp, from = 0): Promise<string> => {
    for (;;) {
      const found = output.slice(from).find(each => pattern.test(each))
      if (found !== undefined) return found
      if (child.exitCode !== null)
        throw new Error(`svc ended without a line that matches ${pattern}:\n${output.join('\n')}`)
      await wait(20)
    }
  }
  const [, url = ''] = /app listens on (http:\/\/[\d.:]+)/.exec(await line(/app listens on/)) ?? []
  await line(/generation 1/)
  return { url, output, line }
}
