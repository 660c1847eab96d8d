import { signal } from '@preact/signals'
import type { InboxItem } from '@svc/contracts'
import { CallError } from './api.ts'
import { inboxCount, mayCall } from './state.ts'
import { stream } from './stream.ts'

const INBOX = 'dashboard.inbox'

export interface FailedSource {
  readonly operation: string
  readonly message: string
}

/** Items that wait for a person; null until they are loaded. */
export const inboxItems = signal<readonly InboxItem[] | null>(null)
export const failedSources = signal<readonly FailedSource[]>([])
export const inboxError = signal<CallError | null>(null)

/** Keeps the inbox of a session up to date. Returns the function that ends it. */
export function watchInbox(): () => void {
  // Items of an earlier session of this tab may not be for the new one.
  inboxItems.value = null
  inboxCount.value = 0
  if (!mayCall(INBOX)) {
    inboxItems.value = []
    return () => {}
  }
  return stream.subscribe(
    INBOX,
    {},
    {
      value(output) {
        const { items, failed } = output as { items: readonly InboxItem[]; failed?: readonly FailedSource[] }
        inboxItems.value = items
        failedSources.value = failed ?? []
        inboxCount.value = items.length
        inboxError.value = null
      },
      error(info) {
        inboxError.value = new CallError(info, 0)
      }
    }
  )
}
