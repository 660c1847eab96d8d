import { randomUUID } from 'node:crypto'
import {
  type GetTaskRequest,
  type ListTasksRequest,
  Role,
  type SendMessageConfiguration,
  type SendMessageRequest,
  TaskState
} from '@a2a-js/sdk'

export interface MessageOptions {
  readonly messageId?: string
  readonly taskId?: string
  readonly contextId?: string
  readonly configuration?: Partial<SendMessageConfiguration>
  readonly metadata?: Record<string, unknown>
}

/** Returns a request with one part of text, for the SDK's client. */
export function messageOf(text: string, options: MessageOptions = {}): SendMessageRequest {
  const { messageId = randomUUID(), taskId = '', contextId = '', configuration, metadata } = options
  return {
    tenant: '',
    metadata: undefined,
    configuration:
      configuration === undefined
        ? undefined
        : {
            acceptedOutputModes: [],
            taskPushNotificationConfig: undefined,
            historyLength: undefined,
            returnImmediately: false,
            ...configuration
          },
    message: {
      messageId,
      taskId,
      contextId,
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }],
      metadata,
      extensions: [],
      referenceTaskIds: []
    }
  }
}

/** Resolves when the condition holds. */
export async function until<A>(
  look: () => Promise<A | null | undefined | false> | A | null | undefined | false
): Promise<A> {
  const deadline = Date.now() + 120_000
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > deadline) throw new Error('the condition was not met in time')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

export function getRequest(id: string, historyLength?: number): GetTaskRequest {
  return { tenant: '', id, historyLength }
}

export function listRequest(query: Partial<ListTasksRequest>): ListTasksRequest {
  return {
    tenant: '',
    contextId: '',
    status: TaskState.TASK_STATE_UNSPECIFIED,
    pageToken: '',
    statusTimestampAfter: undefined,
    ...query
  }
}
