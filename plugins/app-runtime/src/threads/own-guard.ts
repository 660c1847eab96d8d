import { workerData } from 'node:worker_threads'
import { NativeGuard } from '@svc/contracts'
import type { GuardedData } from './program-worker.ts'

const { nativeGuard } = (workerData ?? {}) as Partial<GuardedData>

/** Guard of this thread; undefined if it was not started by `ProgramWorker`. */
export const ownGuard = nativeGuard === undefined ? undefined : new NativeGuard(nativeGuard)
