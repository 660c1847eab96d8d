// Serves coordination stores on files to the parent process.
import { openFile } from '@svc/plugin-database/testing'
import { isSvcError } from '@svc/plugin-sdk'
import { DatabaseCoordination } from '#root'

export interface StoreCall {
  readonly id: number
  readonly file: string
  /** Name of a method, such as `put` or `nodes.put`; `close` closes the store and its database. */
  readonly method: string
  readonly args: readonly unknown[]
}
export type StoreReply =
  | { readonly id: number; readonly ok: true; readonly result: unknown }
  | { readonly id: number; readonly ok: false; readonly code: string | null; readonly message: string }

const opened = new Map<string, Promise<{ readonly store: DatabaseCoordination; close(): Promise<void> }>>()

async function open(file: string) {
  const database = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
  const store = new DatabaseCoordination(database)
  const close = async (): Promise<void> => {
    await store.close()
    await database.close()
  }
  return { store, close }
}

async function answer({ id, file, method, args }: StoreCall): Promise<StoreReply> {
  try {
    const opening = opened.get(file) ?? open(file)
    opened.set(file, opening)
    const { store, close } = await opening
    if (method === 'close') {
      opened.delete(file)
      await close()
      return { id, ok: true, result: null }
    }
    const [first = '', second] = method.split('.')
    const object = (second === undefined ? store : store[first as 'nodes' | 'meta']) as unknown as Record<
      string,
      (...args: readonly unknown[]) => Promise<unknown>
    >
    return { id, ok: true, result: await object[second ?? first]?.(...args) }
  } catch (error) {
    const code = isSvcError(error) ? error.code : null
    return { id, ok: false, code, message: error instanceof Error ? error.message : String(error) }
  }
}

process.on('message', async (call: StoreCall) => process.send?.(await answer(call)))
process.on('disconnect', async () => {
  for (const opening of opened.values()) await (await opening).close()
})
process.send?.('ready')
