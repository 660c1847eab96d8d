import type { Test } from 'tap'
import { makeProject, type Served, serve } from '../../../../test/e2e/served-project.ts'

export interface App extends Served {
  /** Of the program. */
  readonly app: string
  get(path: string): Promise<Answer>
  post(path: string, body: unknown): Promise<Answer>
}

export interface Answer {
  readonly status: number
  /** Body parsed as JSON, or the text if it is not JSON. */
  readonly body: unknown
}

/** A program served by a separate process, with the database of the project. `plugins`: loaded in addition. */
export async function serveApp(
  t: Test,
  source: string,
  settings: Readonly<Record<string, unknown>> = {},
  folder = makeProject(t, { 'app.vox': source }),
  plugins: readonly string[] = []
): Promise<App> {
  const set = { 'app-runtime.program': 'app.vox', 'app-runtime.port': 0, ...settings }
  const argv = Object.entries(set).flatMap(([key, value]) => ['--set', `plugins.${key}=${JSON.stringify(value)}`])
  const served = await serve(t, folder, ['--only', ['app-runtime', 'http', ...plugins].join(), ...argv])
  const line = await served.line(/app listens on (http:\/\/[^\s"]+)|"level":50/)
  const app = /app listens on (http:\/\/[^\s"]+)/.exec(line)?.[1]
  if (app === undefined) throw new Error(line)
  return {
    ...served,
    app,
    get: path => served.request(() => ask(app + path)),
    post: (path, body) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const headers = { 'content-type': 'application/json' }
      return served.request(() => ask(app + path, { method: 'POST', headers, body: text }))
    }
  }
}

export async function ask(url: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(url, init)
  const text = await response.text()
  try {
    return { status: response.status, body: JSON.parse(text) }
  } catch {
    return { status: response.status, body: text }
  }
}

/** Returns the query string of a call, with each value as JSON. */
export function args(values: Readonly<Record<string, unknown>>): string {
  return `?${new URLSearchParams(Object.entries(values).map(([name, value]): [string, string] => [name, JSON.stringify(value)]))}`
}
