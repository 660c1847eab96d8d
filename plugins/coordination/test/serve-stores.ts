import type { Coordination } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'

export interface StoreCall {
  readonly id: number
  /** Names a store: a file, for example. */
  readonly name: string
  /** Name of a method, such as `put` or `nodes.put`; `close` closes the store. */
  readonly method: string
  readonly args: readonly unknown[]
}
export type StoreReply =
  | { readonly id: number; readonly ok: true; readonly result: unknown }
  | { readonly id: number; readonly ok: false; readonly code: string | null; readonly message: string }

export interface ServedStore {
  /** The methods that are called. */
  readonly store: Partial<Coordination>
  close(): Promise<void>
}

/** Serves coordination stores to the parent process, until it disconnects. A store opens at its first call. */
export function serveStores(open: (name: string) => Promise<ServedStore>): void {
  const opened = new Map<string, Promise<ServedStore>>()

  async function answer({ id, name, method, args }: StoreCall): Promise<StoreReply> {
    try {
      const opening = opened.get(name) ?? open(name)
      opened.set(name, opening)
      const { store, close } = await opening
      if (method === 'close') {
        opened.delete(name)
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
}
