import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface WorkflowHost {
  readonly child: ChildProcess
  /** Base URL of the program. */
  readonly url: string
}

export interface WorkflowHostOptions {
  /** Project with `app.vox`. */
  readonly folder: string
  /** Plugins in addition to those of a program. */
  readonly plugins?: readonly string[]
  /** Settings of plugins, such as `app-runtime.threads=2`. */
  readonly settings?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Serves a program with the built svc, on a free port. */
export async function serveWorkflows(options: WorkflowHostOptions): Promise<WorkflowHost> {
  const { folder, plugins = [], settings = [], env = {} } = options
  const bin = fileURLToPath(new URL('../kernel/bin/svc.cjs', import.meta.url))
  const all = ['app-runtime.program="app.vox"', 'app-runtime.port=0', 'http.main=false', ...settings]
  const argv = [
    ...[bin, 'serve', '--json', '--only', ['app-runtime', 'http', 'mcp', ...plugins].join(',')],
    ...all.flatMap(each => ['--set', `plugins.${each}`])
  ]
  const child = spawn(process.execPath, argv, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env }
  })
  const lines: string[] = []
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', line => {
      lines.push(line)
      if (lines.length > 20) lines.shift()
      const address = /app listens on (http:\/\/[^\s"]+)/.exec(line)?.[1]
      if (address !== undefined) resolve(address)
    })
    void once(child, 'exit').then(([code]) => reject(new Error(`svc serve ended with ${code}: ${lines.at(-1)}`)))
  })
  return { child, url }
}

/** Calls a function of a program. Throws on another status than 200. */
export async function callProgram(url: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`)
}
