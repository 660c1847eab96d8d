import {
  type ForeignTask,
  type ForeignTaskFilter,
  type ProcessTasks,
  type PublishedView,
  type TaskView,
  type TaskViewSource,
  viewBody
} from '@svc/contracts'
import { raceAbort } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import type { MeshClient } from './client.ts'
import type { RemoteVerbs } from './remote-verbs.ts'
import { foreignTaskOf, processOf } from './view-of-task.ts'
import { PUBLISH_MS } from './view-publisher.ts'

/** Limit for the whole texts of one task, in milliseconds; then the published ones are shown. */
const DETAIL_MS = 2_000

const checkView = schemaCheck(viewBody)

export interface ViewSourceOptions {
  readonly client: MeshClient
  readonly repositoryId: string
  /** Names the database of this process. Processes with the same one are listed by the source `seats`. */
  readonly storeId: () => Promise<string>
  readonly verbs: RemoteVerbs
}

/** Tasks of the repository on hosts with other databases. */
export class ViewSource implements TaskViewSource {
  readonly id = 'mesh'
  readonly #options: ViewSourceOptions
  #views: { readonly at: number; readonly list: Promise<readonly PublishedView[]> } | null = null

  constructor(options: ViewSourceOptions) {
    this.#options = options
  }

  async list(filter: ForeignTaskFilter, signal: AbortSignal): Promise<readonly ForeignTask[]> {
    const found = (await this.#read(signal)).flatMap(view => {
      return view.tasks
        .map(task => ({ view, task: foreignTaskOf(task, processOf(view)) }))
        .filter(({ task }) => matches(task, filter))
    })
    found.sort((one, other) => one.task.id - other.task.id)
    if (filter.task !== undefined) return Promise.all(found.map(({ view, task }) => this.#whole(view, task, signal)))
    return found.slice(0, filter.limit).map(({ task }) => task)
  }

  async processes(signal: AbortSignal): Promise<readonly ProcessTasks[]> {
    return (await this.#read(signal)).map(view => {
      const { agents, open, ended } = view
      return { ...processOf(view), agents, open, ended }
    })
  }

  async version(signal: AbortSignal): Promise<string> {
    return (await this.#read(signal)).map(({ node_id, version }) => `${node_id}:${version}`).join(' ')
  }

  act: NonNullable<TaskViewSource['act']> = async (task, verb, args, caller) => {
    const view = (await this.#read(caller.signal)).find(each => {
      return each.host === task.process.host && each.pid === task.process.pid
    })
    return this.#options.verbs.send(task, view?.mailbox ?? null, verb, args, caller)
  }

  /** Returns a task with its whole texts, if its process answers in time. */
  async #whole(view: PublishedView, task: ForeignTask, signal: AbortSignal): Promise<ForeignTask> {
    const whole = await this.#options.verbs.look(task.id, view.mailbox, DETAIL_MS, signal).catch(() => null)
    return whole === null ? task : { ...(whole as TaskView), process: task.process }
  }

  async #read(signal: AbortSignal): Promise<readonly PublishedView[]> {
    if (!this.#options.client.configured) return []
    const now = performance.now()
    // Each process publishes its view at this interval.
    if (this.#views === null || now - this.#views.at >= PUBLISH_MS) {
      const list = this.#fetch()
      this.#views = { at: now, list }
      list.catch(() => {
        if (this.#views?.list === list) this.#views = null
      })
    }
    return raceAbort(signal, this.#views.list)
  }

  /** Callers share the answer, so none of them can abort the call; the client has a time limit. */
  async #fetch(): Promise<readonly PublishedView[]> {
    const { client, repositoryId, storeId } = this.#options
    const query = new URLSearchParams({ repository_id: repositoryId })
    const answer = (await client.extension('GET', `/x/views?${query}`, undefined)) as {
      readonly views?: unknown
    } | null
    const views: unknown = answer?.views
    if (!Array.isArray(views)) return []
    const own = await storeId()
    return views.filter(view => isView(view) && view.store_id !== own)
  }
}

function isView(value: unknown): value is PublishedView {
  if (typeof value !== 'object' || value === null) return false
  const { version, ...body } = value as Partial<PublishedView>
  return typeof version === 'number' && checkView(body).ok
}

function matches(task: ForeignTask, { agent, status, session, after = 0, task: id }: ForeignTaskFilter): boolean {
  return (
    (agent === undefined || task.agent_id === agent) &&
    (status === undefined || task.status.kind === status) &&
    (session === undefined || task.session_id === session) &&
    task.id > after &&
    (id === undefined || task.id === id)
  )
}
