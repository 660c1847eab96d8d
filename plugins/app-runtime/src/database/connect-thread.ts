import { createRequire } from 'node:module'
import type { ConnectThread, ThreadAccess, ThreadConnection } from '@svc/contracts'
import { ownGuard } from '../threads/own-guard.ts'

/**
 * Connects the calling thread. `waitMs` is the maximum wait for a lock in milliseconds; default: that of the store.
 * Throws `DBS_OPEN_FAILED`, `DBS_CORRUPT`, `DBS_BUSY` and `DBS_NO_BINDING`.
 */
export function connectThread({ module, options }: ThreadAccess, waitMs?: number): ThreadConnection {
  // Node 20 aborts the process if a thread is terminated while it loads an ES module with `require`.
  ownGuard?.enter()
  try {
    const { connect } = createRequire(import.meta.url)(module) as { readonly connect: ConnectThread }
    return connect(options, waitMs, ownGuard)
  } finally {
    ownGuard?.leave()
  }
}
