import { randomUUID } from 'node:crypto'
import {
  type AgentCard,
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetExtendedAgentCardRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type ListTasksRequest,
  type ListTasksResponse,
  type SendMessageRequest,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type Task,
  type TaskPushNotificationConfig,
  TaskState
} from '@a2a-js/sdk'
import {
  PushNotificationNotSupportedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError
} from '@a2a-js/sdk/errors'
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server'
import type { Logger } from '@svc/plugin-sdk'
import { a2aServerErrors } from '../errors.ts'
import { fromWireConfig, toWireConfig } from '../push/push-config.ts'
import { END, type KeyedEvent, type PushConfig } from '../tasks/event.ts'
import { contextIdOf, taskIdOf } from '../tasks/ids.ts'
import { agentMessage } from '../tasks/messages.ts'
import { MESH_EXTENSION, sizeOf, snapshotOf, streamed, type TaskSnapshot, taskOf } from '../tasks/snapshot.ts'
import { hasEnded, isInterrupted } from '../tasks/states.ts'
import type { TaskStore } from '../tasks/task-store.ts'
import type { Target } from '../work/target.ts'
import { A2aCall, type A2aScope } from './call.ts'
import { assertHistoryLength, type CheckedMessage, checkMessage, malformed } from './input.ts'
import { listTasks } from './list-tasks.ts'
import type { TaskFollowers } from './task-followers.ts'
import { toA2aError } from './wire-errors.ts'

/** Replies of a client to one task. */
const MAX_REPLIES = 100
/** Messages of one task, as JSON. */
const MAX_HISTORY_BYTES = 4 * 1024 * 1024
const MAX_WEBHOOKS = 10
/** Events of a task above which its webhooks can no longer be changed. */
const MAX_CONFIG_EVENTS = 500
/** Characters of the result of a referenced task that a new task receives. */
const MAX_REFERENCE_CHARS = 8_000
const MAX_TEXT_BYTES = 131_072

export interface HandlerParts {
  readonly tasks: TaskStore
  readonly target: Target
  readonly log: Logger
  readonly followers: TaskFollowers
  readonly maxOpenTasks: () => number
  readonly push: boolean
  /** Throws `A2S_CALLBACK_DENIED` for a webhook that may not be called. */
  readonly checkCallback: (url: string) => Promise<void>
  /** Return the cards. `url`: URL of the server as the client wrote it. */
  readonly card: (url?: string) => AgentCard
  readonly extendedCard: (url?: string) => AgentCard
}

/**
 * The operations of the protocol. Replaces the SDK's `DefaultRequestHandler`, which follows and cancels a task only in
 * the process that started it.
 */
export class A2aRequestHandler implements A2ARequestHandler {
  readonly #parts: HandlerParts

  constructor(parts: HandlerParts) {
    this.#parts = parts
  }

  async getAgentCard(): Promise<AgentCard> {
    return this.#parts.card()
  }

  /** Returns the public card for a client that reaches the server at a URL. */
  cardAt(url: string | undefined): AgentCard {
    return this.#parts.card(url)
  }

  getAuthenticatedExtendedAgentCard(
    { tenant }: GetExtendedAgentCardRequest,
    context: ServerCallContext
  ): Promise<AgentCard> {
    return this.#call(context, 'a2a.read', tenant, async call => this.#parts.extendedCard(call.base))
  }

  sendMessage(params: SendMessageRequest, context: ServerCallContext): Promise<Task> {
    return this.#call(context, 'a2a.send', params.tenant, async call => {
      const { configuration } = params
      const waits = configuration?.returnImmediately !== true
      // Before the message is stored: a refused caller then sends it again without waiting.
      if (waits) this.#parts.followers.assertRoom()
      let task = await this.#accept(params, call)
      if (waits) {
        for await (const each of this.#parts.followers.follow(task, call, isSettled)) task = each
      }
      return taskOf(task, { historyLength: configuration?.historyLength })
    })
  }

  sendMessageStream(
    params: SendMessageRequest,
    context: ServerCallContext
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const accept = async (call: A2aCall) => {
      this.#parts.followers.assertRoom()
      const task = await this.#accept(params, call)
      return { task, from: task.last, until: isSettled, historyLength: params.configuration?.historyLength }
    }
    return this.#stream(context, 'a2a.send', params.tenant, accept)
  }

  getTask(params: GetTaskRequest, context: ServerCallContext): Promise<Task> {
    return this.#call(context, 'a2a.read', params.tenant, async call => {
      assertHistoryLength(params.historyLength)
      return taskOf(await this.#find(params.id, call), { historyLength: params.historyLength })
    })
  }

  listTasks(params: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse> {
    return this.#call(context, 'a2a.read', params.tenant, call =>
      listTasks(this.#parts.tasks, params, call.principal.id)
    )
  }

  cancelTask({ tenant, id }: CancelTaskRequest, context: ServerCallContext): Promise<Task> {
    return this.#call(context, 'a2a.send', tenant, async call => {
      const found = await this.#find(id, call)
      if (hasEnded(found.state)) throw notCancelable(found)
      const message = agentMessage(found, END, 'The task was cancelled by the client.')
      const event = { type: 'status', state: TaskState.TASK_STATE_CANCELED, message, facts: {} } as const
      const { ended, task } = await this.#parts.tasks.end(found, [{ key: END, event }])
      if (!ended) throw notCancelable(task)
      await this.#parts.target.cancelled(task)
      return taskOf(task)
    })
  }

  resubscribe(
    { tenant, id }: SubscribeToTaskRequest,
    context: ServerCallContext
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const subscribe = async (call: A2aCall) => {
      const task = await this.#find(id, call)
      const { lastEvent } = call
      const from = lastEvent ?? task.last
      if (hasEnded(task.state) && from >= task.last) {
        throw new UnsupportedOperationError(
          `the task ${id} has ended (${stateName(task)}), and there are no further events; read it with GetTask`
        )
      }
      return { task, from, until: hasEndedTask, historyLength: undefined }
    }
    return this.#stream(context, 'a2a.read', tenant, subscribe)
  }

  createTaskPushNotificationConfig(
    params: TaskPushNotificationConfig,
    context: ServerCallContext
  ): Promise<TaskPushNotificationConfig> {
    return this.#pushCall(context, params.tenant, params.taskId, async (task, call) => {
      if (task.events.length > MAX_CONFIG_EVENTS) throw malformed('the webhooks of this task were changed too often')
      const config = await this.#checkedConfig(params, call)
      const others = task.pushes.filter(({ id }) => id !== config.id)
      if (others.length >= MAX_WEBHOOKS) throw malformed(`a task has at most ${MAX_WEBHOOKS} webhooks`)
      await this.#parts.tasks.append(task, [pushEvent(config)])
      return toWireConfig(config, task.id)
    })
  }

  getTaskPushNotificationConfig(
    { tenant, taskId, id }: GetTaskPushNotificationConfigRequest,
    context: ServerCallContext
  ): Promise<TaskPushNotificationConfig> {
    return this.#pushCall(context, tenant, taskId, async task => {
      const config = task.pushes.find(each => each.id === id)
      if (config === undefined) throw new TaskNotFoundError(`the task ${taskId} has no webhook "${id.slice(0, 256)}"`)
      return toWireConfig(config, task.id)
    })
  }

  listTaskPushNotificationConfigs(
    { tenant, taskId, pageSize = 0, pageToken }: ListTaskPushNotificationConfigsRequest,
    context: ServerCallContext
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.#pushCall(context, tenant, taskId, async task => {
      if (!Number.isInteger(pageSize) || pageSize < 0) throw malformed('pageSize must be a whole number from 0 on')
      const begin = pageToken === '' ? 0 : 1 + task.pushes.findIndex(({ id }) => id === pageToken)
      if (pageToken !== '' && begin === 0) throw malformed('pageToken is not a token of this list, or is outdated')
      // A task has few webhooks, so all fit on one page.
      const page = task.pushes.slice(begin, pageSize === 0 ? undefined : begin + pageSize)
      const isLast = begin + page.length >= task.pushes.length
      return {
        configs: page.map(config => toWireConfig(config, task.id)),
        nextPageToken: isLast ? '' : (page.at(-1)?.id ?? '')
      }
    })
  }

  deleteTaskPushNotificationConfig(
    { tenant, taskId, id }: DeleteTaskPushNotificationConfigRequest,
    context: ServerCallContext
  ): Promise<void> {
    return this.#pushCall(context, tenant, taskId, async task => {
      if (!task.pushes.some(each => each.id === id)) return
      await this.#parts.tasks.append(task, [{ key: `push:${randomUUID()}`, event: { type: 'push_removed', id } }])
    })
  }

  /** Stores a message. Returns the task that it started or continued; for a repeated message, that of the first one. */
  async #accept(params: SendMessageRequest, call: A2aCall): Promise<TaskSnapshot> {
    const checked = checkMessage(params)
    activate(call)
    const push = params.configuration?.taskPushNotificationConfig
    if (push !== undefined && !this.#parts.push) throw new PushNotificationNotSupportedError()
    const config = push === undefined ? null : await this.#checkedConfig(push, call)
    return checked.message.taskId === '' ? this.#start(checked, config, call) : this.#reply(checked, config, call)
  }

  async #start(checked: CheckedMessage, config: PushConfig | null, call: A2aCall): Promise<TaskSnapshot> {
    const { tasks, target } = this.#parts
    const { principal } = call
    const id = taskIdOf(tasks.scope, principal.id, checked.message.messageId)
    const earlier = await tasks.find(id)
    if (earlier !== null) return earlier
    const maxOpenTasks = this.#parts.maxOpenTasks()
    if ((await tasks.countOpen(principal.id)) >= maxOpenTasks) {
      throw a2aServerErrors.create(
        'A2S_BUSY',
        `the caller has ${maxOpenTasks} unfinished tasks, which is the maximum`,
        {
          hint: 'wait until tasks have ended, or raise max_open_tasks in [plugins.a2a-server]'
        }
      )
    }
    const context = checked.message.contextId === '' ? contextIdOf(id) : checked.message.contextId
    const message = { ...checked.message, taskId: id, contextId: context }
    const text = await this.#withReferences(checked, call)
    const created = {
      type: 'created',
      owner: principal.id,
      principal: { id: principal.id, role: principal.role, scopes: [...principal.scopes] },
      context,
      message,
      text,
      hints: checked.hints
    } as const
    const events: KeyedEvent[] = [{ key: 'created', event: created }, ...(config === null ? [] : [pushEvent(config)])]
    const work = await target.accept({ id, context }, created)
    const task = await tasks.create(id, [...events, ...work.events], work.items)
    if (task !== null) return task
    throw new TaskNotFoundError(`the message was processed before, and its task ${id} is no longer stored`)
  }

  async #reply(checked: CheckedMessage, config: PushConfig | null, call: A2aCall): Promise<TaskSnapshot> {
    const { message, text } = checked
    const found = await this.#find(message.taskId, call)
    if (found.history.some(({ messageId }) => messageId === message.messageId)) return found
    if (message.contextId !== '' && message.contextId !== found.context)
      throw malformed(`message.contextId is not the context of the task ${found.id}`)
    if (found.state !== TaskState.TASK_STATE_INPUT_REQUIRED) throw takesNoMessage(found)
    if (found.inputs > MAX_REPLIES)
      throw new UnsupportedOperationError(`the task ${found.id} received ${MAX_REPLIES} replies, which is the maximum`)
    if (sizeOf({ history: [...found.history, message] }) > MAX_HISTORY_BYTES)
      throw new UnsupportedOperationError(`the history of the task ${found.id} would exceed ${MAX_HISTORY_BYTES} bytes`)
    // One reply for each request of input: of two clients that reply at once, one is first.
    const reply = {
      key: `reply:${found.inputs}`,
      event: { type: 'reply', message: { ...message, contextId: found.context }, text }
    } as const
    const events = [...(config === null ? [] : [pushEvent(config)]), reply]
    const { task } = await this.#parts.tasks.append(found, events)
    if (!task.history.some(({ messageId }) => messageId === message.messageId)) throw takesNoMessage(task)
    return task
  }

  /** Returns the text of a message with the results of the tasks that it refers to. */
  async #withReferences({ message, text }: CheckedMessage, call: A2aCall): Promise<string> {
    const texts = [text]
    for (const id of message.referenceTaskIds) {
      const { artifacts } = await this.#find(id, call)
      const parts = artifacts.flatMap(artifact => artifact.parts)
      const result = parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('\n')
      texts.push(`Result of the task ${id}:\n${result.slice(0, MAX_REFERENCE_CHARS)}`)
    }
    const whole = texts.join('\n\n')
    if (Buffer.byteLength(whole) > MAX_TEXT_BYTES)
      throw malformed(`the message and the results of its referenced tasks exceed ${MAX_TEXT_BYTES} bytes`)
    return whole
  }

  /** Returns a task of the caller. Throws `TaskNotFoundError`, also for the task of another caller. */
  async #find(id: string, { principal }: A2aCall): Promise<TaskSnapshot> {
    if (id.trim() === '') throw malformed('the id of the task is missing')
    const task = id.length > 256 ? null : await this.#parts.tasks.find(id)
    if (task === null || task.created.owner !== principal.id)
      throw new TaskNotFoundError(`there is no task ${id.slice(0, 256)}`)
    return task
  }

  async #checkedConfig(params: TaskPushNotificationConfig, call: A2aCall): Promise<PushConfig> {
    const config = fromWireConfig(params, call.requestedVersion === '0.3' ? '0.3' : '1.0')
    await this.#parts.checkCallback(config.url)
    return config
  }

  #pushCall<A>(
    context: ServerCallContext,
    tenant: string,
    id: string,
    run: (task: TaskSnapshot, call: A2aCall) => Promise<A>
  ): Promise<A> {
    return this.#call(context, 'a2a.read', tenant, async call => {
      if (!this.#parts.push) throw new PushNotificationNotSupportedError()
      return run(await this.#find(id, call), call)
    })
  }

  /** Runs an operation for a caller that may use it, and converts its errors. */
  async #call<A>(
    context: ServerCallContext,
    scope: A2aScope,
    tenant: string,
    run: (call: A2aCall) => Promise<A>
  ): Promise<A> {
    try {
      return await run(admitted(context, scope, tenant))
    } catch (error) {
      throw toA2aError(error, this.#parts.log)
    }
  }

  async *#stream(
    context: ServerCallContext,
    scope: A2aScope,
    tenant: string,
    open: (call: A2aCall) => Promise<{
      readonly task: TaskSnapshot
      /** Number of the event from which the stream continues. */
      readonly from: number
      readonly until: (task: TaskSnapshot) => boolean
      readonly historyLength: number | undefined
    }>
  ): AsyncGenerator<StreamResponse, void, undefined> {
    try {
      const call = admitted(context, scope, tenant)
      const { task: first, from, until, historyLength } = await open(call)
      const begin = snapshotOf(first.id, first.events, from) ?? first
      let last = begin.last
      let isBegun = false
      for await (const task of this.#parts.followers.follow(first, call, until)) {
        if (!isBegun) {
          isBegun = true
          call.streamed = last
          yield { payload: { $case: 'task', value: taskOf(begin, { historyLength }) } }
        }
        for (const logged of task.events.filter(({ number }) => number > last)) {
          last = logged.number
          const event = streamed(task, logged)
          if (event === null) continue
          call.streamed = last
          yield event
        }
      }
    } catch (error) {
      throw toA2aError(error, this.#parts.log)
    }
  }
}

/** Returns the call of a context. Throws for a caller without the right, and for a tenant, which this agent has none of. */
function admitted(context: ServerCallContext, scope: A2aScope, tenant: string): A2aCall {
  if (!(context instanceof A2aCall)) throw new TypeError('the call was not made by a binding of this server')
  context.hasBegun = true
  if (!context.may(scope)) {
    throw a2aServerErrors.create('A2S_FORBIDDEN', `the caller does not have the scope ${scope}`, {
      hint: 'send the bearer token of this server, or a token of a role with this right'
    })
  }
  if (tenant !== '') throw malformed('this agent has no tenants; leave the tenant out')
  return context
}

function activate(call: A2aCall): void {
  if (call.requestedExtensions?.includes(MESH_EXTENSION) === true) call.addActivatedExtension(MESH_EXTENSION)
}

function pushEvent(config: PushConfig): KeyedEvent {
  return { key: `push:${config.id}:${randomUUID()}`, event: { type: 'push', config } }
}

function isSettled({ state }: TaskSnapshot): boolean {
  return hasEnded(state) || isInterrupted(state)
}

function hasEndedTask({ state }: TaskSnapshot): boolean {
  return hasEnded(state)
}

function stateName({ state }: TaskSnapshot): string {
  return TaskState[state].replace('TASK_STATE_', '').toLowerCase().replace('_', ' ')
}

function notCancelable(task: TaskSnapshot): Error {
  return new TaskNotCancelableError(`the task ${task.id} cannot be cancelled: it is ${stateName(task)}`)
}

function takesNoMessage(task: TaskSnapshot): Error {
  const hint = hasEnded(task.state) ? 'start a new task' : 'wait until it requires input'
  return new UnsupportedOperationError(`the task ${task.id} takes no message: it is ${stateName(task)}; ${hint}`)
}
