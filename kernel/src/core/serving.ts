import type { DrainReason, Point, ServeOptions } from '@svc/plugin-sdk'

interface ServeListener extends ServeOptions {
  readonly label: string
  readonly listener: () => void
}

interface DrainListener {
  readonly label: string
  readonly listener: (reason: DrainReason) => void | Promise<void>
}

/** Item of a point with the name of the plugin that contributed it. */
export interface OwnedItem {
  readonly item: unknown
  readonly plugin: string
}

interface Follower {
  readonly point: Point<unknown>
  readonly listener: (items: readonly unknown[], plugins: readonly string[]) => void
  /** Items at the last flip; undefined before the first. */
  seen: readonly unknown[] | undefined
}

/** Listeners of a unit for the start of serving, for changed contributions, and for draining. */
export class Serving {
  readonly onServe: ServeListener[] = []
  readonly onDrain: DrainListener[] = []
  readonly followers: Follower[] = []
  #preparing: Promise<void> | undefined
  #draining: Promise<unknown> | undefined

  /** Runs each `prepare` once, in order of registration. Rejects with the first error. */
  prepare(signal: AbortSignal): Promise<void> {
    this.#preparing ??= this.#prepareAll(signal)
    return this.#preparing
  }

  /** Calls the followers whose items changed. Returns the errors that they threw. */
  follow(itemsAt: (point: Point<unknown>) => readonly OwnedItem[]): unknown[] {
    return this.followers.flatMap(follower => {
      const owned = itemsAt(follower.point)
      const items = owned.map(({ item }) => item)
      if (follower.seen !== undefined && sameItems(follower.seen, items)) return []
      follower.seen = items
      return thrownBy(() =>
        follower.listener(
          items,
          owned.map(({ plugin }) => plugin)
        )
      )
    })
  }

  /** Calls the `onServe` listeners. Returns the errors that they threw. */
  begin(): unknown[] {
    return this.onServe.flatMap(({ listener }) => thrownBy(listener))
  }

  /** Calls the `onDrain` listeners, concurrently and only once. `failed` receives their errors. */
  drain(reason: DrainReason, failed: (error: unknown) => void): Promise<unknown> {
    this.#draining ??= Promise.all(
      this.onDrain.map(async ({ listener }) => listener(reason)).map(end => end.catch(failed))
    )
    return this.#draining
  }

  async #prepareAll(signal: AbortSignal): Promise<void> {
    for (const { prepare } of this.onServe) await prepare?.(signal)
  }
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}

function thrownBy(run: () => void): unknown[] {
  try {
    run()
    return []
  } catch (error) {
    return [error]
  }
}
