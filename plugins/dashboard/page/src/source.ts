import { type Signal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { CallError, call } from './api.ts'
import { valueAt } from './bindings.ts'
import { consoleState, operationsById } from './state.ts'
import { stream } from './stream.ts'

/** Data of a view: loaded once, or kept up to date by the stream. */
export interface Source {
  /** Output of the operation; undefined before the first answer. For a delta operation: the rows. */
  readonly value: Signal<unknown>
  readonly error: Signal<CallError | null>
  readonly loading: Signal<boolean>
  /** Whether changes arrive by themselves. */
  readonly live: boolean
  refresh(): void
}

interface MutableSource extends Source {
  live: boolean
  refresh: () => void
}

/**
 * Loads an operation's output, and watches it if the operation supports that. `key`: dotted path of the value that
 * identifies a row, for delta operations.
 */
export function useSource(operation: string, input: Readonly<Record<string, unknown>>, key?: string): Source {
  const inputText = JSON.stringify(input)
  const generation = consoleState.value?.generation ?? 0
  const summary = operationsById.value.get(operation)
  const mode = summary?.watch?.mode
  const source = useMemo<MutableSource>(
    () => ({ value: signal(), error: signal(null), loading: signal(true), live: false, refresh: () => {} }),
    [operation, inputText]
  )
  source.live = mode !== undefined
  useEffect(
    () => {
      const { value, error, loading } = source
      const fail = (thrown: unknown): void => {
        error.value =
          thrown instanceof CallError ? thrown : new CallError({ code: 'FAILED', message: String(thrown) }, 0)
        loading.value = false
      }
      if (mode !== undefined) {
        const rows = new Map<string, unknown>()
        return stream.subscribe(operation, JSON.parse(inputText), {
          value(next) {
            value.value = next
            error.value = null
            loading.value = false
          },
          delta({ reset, upsert, remove, more }) {
            if (reset) rows.clear()
            for (const removed of remove) rows.delete(removed)
            for (const row of upsert) rows.set(String(valueAt(row, key)), row)
            value.value = [...rows.values()]
            error.value = null
            loading.value = more && rows.size === 0
          },
          error: info => fail(new CallError(info, 0))
        })
      }
      const cancel = new AbortController()
      const load = async (): Promise<void> => {
        try {
          const output = await call(operation, JSON.parse(inputText), { signal: cancel.signal })
          value.value = output
          error.value = null
          loading.value = false
        } catch (thrown) {
          if (!cancel.signal.aborted) fail(thrown)
        }
      }
      source.refresh = () => void load()
      void load()
      return () => cancel.abort()
    },
    // Data that is not watched is loaded again when the plugins change.
    mode === undefined ? [source, operation, inputText, generation] : [source, operation, inputText, mode]
  )
  return source
}
