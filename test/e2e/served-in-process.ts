import { setTimeout as sleep } from 'node:timers/promises'
import { openInProcess } from '@svc/kernel/testing'
import type { Test } from 'tap'
import { keepCompiledPlugins, takeCompiledPlugins } from '../compiled-plugins.ts'
import { makeProject } from './served-project.ts'

export interface ServedApp {
  readonly folder: string
  readonly kernel: Awaited<ReturnType<typeof openInProcess>>['kernel']
  /** URL of the program's listener. */
  readonly url: string
  call<A = any>(operation: string, input?: object, scopes?: readonly string[]): Promise<A>
  post(path: string, body: unknown): Promise<{ readonly status: number; readonly body: any }>
  /** Stops the process's plugins. */
  close(): Promise<void>
}

/** Serves a program in this process, from sources, with the database of a temporary project. */
export async function serveInProcess(
  t: Test,
  source: string,
  {
    set = [],
    folder = makeProject(t, { 'app.vox': source }),
    plugins = []
  }: { set?: readonly string[]; folder?: string; plugins?: readonly string[] } = {}
): Promise<ServedApp> {
  takeCompiledPlugins(folder)
  const { kernel, close } = await openInProcess({
    root: folder,
    only: ['app-runtime', 'compiler', 'database', 'http', ...plugins],
    set: [
      'plugins.http.port=0',
      'plugins.app-runtime.program="app.vox"',
      'plugins.app-runtime.port=0',
      'plugins.app-runtime.threads=2',
      ...set
    ]
  })
  let isClosed = false
  const end = async (): Promise<void> => {
    if (!isClosed) {
      await close()
      keepCompiledPlugins(folder)
    }
    isClosed = true
  }
  t.teardown(end)
  const call = (operation: string, input: object = {}, scopes: readonly string[] = ['*']): Promise<any> =>
    kernel.invoke(operation, input, { surface: 'internal', principal: { id: 'test', role: 'owner', scopes } })
  const { apps } = await call('app.list')
  const url = String(apps[0]?.url)
  return {
    folder,
    kernel,
    url,
    call,
    async post(path, body) {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      return { status: response.status, body: await response.json() }
    },
    close: end
  }
}

/** Repeats a look until it finds what is expected. Fails with the last result after a generous limit. */
export async function until<A>(look: () => Promise<A>, is: (found: A) => boolean): Promise<A> {
  for (let left = 4_800; ; left--) {
    const found = await look()
    if (is(found)) return found
    if (left === 0) throw new Error(`not found: ${JSON.stringify(found)}`)
    await sleep(25)
  }
}
