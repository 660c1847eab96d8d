import { type DatabaseStore, type DatabaseTransaction, databaseErrors } from '@svc/contracts'
import type { BridgeAnswers } from '../threads/bridge.ts'
import { STORE_QUESTION, type StoreQuestion } from './bridge-connection.ts'

/** Timeout of a transaction. Very long, because the program has its own time limit. */
const TRANSACTION_MS = 24 * 60 * 60 * 1000

/** Thrown to roll back a transaction without reporting a failure. */
class Abandoned extends Error {}

interface OpenTransaction {
  readonly tx: DatabaseTransaction
  commit(): void
  rollback(): void
  /** Settles when the store has ended the transaction. */
  readonly ended: Promise<void>
}

/**
 * Handles the requests of a thread's `BridgeConnection` in the main thread. When the thread ends, `signal` is aborted
 * and the open transaction is rolled back.
 */
export function storeAnswers(store: () => Promise<DatabaseStore>, signal: AbortSignal): BridgeAnswers {
  let open: OpenTransaction | null = null

  const end = async (how: 'commit' | 'rollback'): Promise<null> => {
    const ending = open
    open = null
    if (ending === null) throw databaseErrors.create('DBS_TRANSACTION_ENDED', 'no transaction is open')
    ending[how]()
    await ending.ended
    return null
  }
  signal.addEventListener('abort', () => void open?.rollback(), { once: true })

  return {
    [STORE_QUESTION]: async (question: StoreQuestion): Promise<unknown> => {
      switch (question.op) {
        case 'query':
        case 'execute': {
          const { sql, parameters } = question.statement
          const target = open?.tx ?? (await store())
          return question.op === 'query' ? target.query(sql, parameters) : target.execute(sql, parameters)
        }
        case 'begin':
          open = await beginTransaction(await store())
          // The thread may have ended while it waited for the lock.
          if (signal.aborted) open.rollback()
          return null
        case 'commit':
        case 'rollback':
          return end(question.op)
        case 'sync':
          await (await store()).sync()
          return null
      }
    }
  }
}

/** Begins a transaction that its caller ends. Resolves when it has begun. */
function beginTransaction(store: DatabaseStore): Promise<OpenTransaction> {
  return new Promise((resolve, reject) => {
    let settle: { commit(): void; rollback(): void }
    const decided = new Promise<void>((commit, abandon) => {
      settle = { commit, rollback: () => abandon(new Abandoned()) }
    })
    // Not handled here: `ended` reports the failure.
    decided.catch(() => undefined)
    const ended = store.transaction(
      tx => {
        resolve({ tx, ...settle, ended: waited })
        return decided
      },
      { timeoutMs: TRANSACTION_MS }
    )
    const waited = ended.catch(error => {
      if (!(error instanceof Abandoned)) throw error
    })
    waited.catch(() => undefined)
    ended.catch(reject)
  })
}
