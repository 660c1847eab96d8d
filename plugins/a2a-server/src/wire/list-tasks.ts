import { type ListTasksRequest, type ListTasksResponse, type Task, TaskState } from '@a2a-js/sdk'
import { sizeOf, taskOf } from '../tasks/snapshot.ts'
import type { Position } from '../tasks/task-index.ts'
import type { TaskStore } from '../tasks/task-store.ts'
import { assertHistoryLength, malformed } from './input.ts'

const DEFAULT_PAGE_SIZE = 50
const MAX_PAGE_SIZE = 100
/** Messages and results in one answer; the first task always fits. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024

/** Returns a page of an owner's tasks, most recently changed first. Throws `RequestMalformedError`. */
export async function listTasks(tasks: TaskStore, params: ListTasksRequest, owner: string): Promise<ListTasksResponse> {
  const { contextId, status, pageSize = DEFAULT_PAGE_SIZE, historyLength, includeArtifacts = false } = params
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE_SIZE)
    throw malformed(`pageSize must be a whole number from 1 to ${MAX_PAGE_SIZE}`)
  if (TaskState[status] === undefined || status === TaskState.UNRECOGNIZED)
    throw malformed('status is not a state of a task')
  assertHistoryLength(historyLength)
  const since = timeOf(params.statusTimestampAfter)
  const after = params.pageToken === '' ? undefined : positionOf(params.pageToken)
  const page = await tasks.list({
    owner,
    matches: entry =>
      (contextId === '' || entry.context === contextId) &&
      (status === TaskState.TASK_STATE_UNSPECIFIED || entry.state === status) &&
      entry.at >= since,
    limit: pageSize,
    ...(after === undefined ? null : { after })
  })
  const view = { historyLength, artifacts: includeArtifacts }
  const shown: Task[] = []
  let bytes = 0
  let last: Position | undefined
  for (const entry of page.entries) {
    // Read one after the other, since a task may have megabytes of history.
    const task = await tasks.find(entry.id)
    const each = task === null ? null : taskOf(task, view)
    bytes += each === null ? 0 : sizeOf(each)
    if (shown.length > 0 && bytes > MAX_PAGE_BYTES) break
    if (each !== null) shown.push(each)
    last = entry
  }
  const isWhole = last === page.entries.at(-1)
  return {
    tasks: shown,
    nextPageToken: (page.hasMore || !isWhole) && last !== undefined ? tokenOf(last) : '',
    pageSize,
    totalSize: page.total
  }
}

/** Returns the time of an ISO 8601 text in milliseconds; -Infinity if it is absent. */
function timeOf(text: string | undefined): number {
  if (text === undefined || text === '') return -Infinity
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw malformed('statusTimestampAfter must be an ISO 8601 time')
  return time
}

function tokenOf({ at, id }: Position): string {
  return Buffer.from(JSON.stringify([at, id])).toString('base64url')
}

function positionOf(token: string): Position {
  try {
    const [at, id] = JSON.parse(Buffer.from(token, 'base64url').toString())
    if (typeof at === 'number' && typeof id === 'string') return { at, id }
  } catch {
    // Reported below.
  }
  throw malformed('pageToken is not a token of this server')
}
