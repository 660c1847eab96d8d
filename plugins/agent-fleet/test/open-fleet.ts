import {
  type AgentEvent,
  type AgentFleet,
  agentFleet,
  type McpToolset,
  mcpToolset,
  type Orchestrator,
  orchestrator as orchestratorToken,
  type SubmitRequest,
  type TaskProcessor,
  type TaskView,
  taskProcessors
} from '@svc/contracts'
import inferenceClient from '@svc/plugin-inference-client'
import orchestratorPlugin from '@svc/plugin-orchestrator'
import { definePlugin, type JsonSchema, type Plugin, ref, toJsonSchema } from '@svc/plugin-sdk'
import { fake, type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import fleetPlugin from '#plugin'

/** Returns an empty object for each object property of a schema; the kernel fills in the defaults. */
function tables(schema: JsonSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, property]) =>
      property.type === 'object' && property.properties !== undefined ? [[name, tables(property)]] : []
    )
  )
}

export interface OpenFleet {
  readonly kernel: TestKernel
  readonly fleet: AgentFleet
  readonly tasks: Orchestrator
  readonly events: AgentEvent[]
  submit(request?: Partial<SubmitRequest>): Promise<number>
  /** Waits until the task has one of the statuses, and returns it. */
  until(task: number, ...kinds: readonly string[]): Promise<TaskView>
  /** Types of the events so far. */
  eventTypes(): readonly string[]
}

export interface FleetOptions {
  readonly fleet?: object
  readonly orchestrator?: object
  /** Address of the model server. */
  readonly url?: string
  /** Further settings of the client. */
  readonly client?: object
  readonly toolset?: McpToolset
  readonly processors?: readonly TaskProcessor[]
  /** Further plugins, for example the database. */
  readonly plugins?: readonly Plugin[]
  /** False if the test starts the fleet itself. */
  readonly start?: boolean
}

/** Opens the fleet with the real orchestrator and inference client. */
export async function openFleet(t: Test, options: FleetOptions = {}): Promise<OpenFleet> {
  const { url, toolset, processors = [], plugins = [] } = options
  let held: { tasks: { readonly current: Orchestrator }; fleet: { readonly current: AgentFleet } } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { tasks: ref(orchestratorToken), fleet: ref(agentFleet) },
    activate(_ctx, deps) {
      held = deps
    }
  })
  const others = definePlugin({
    name: 'others',
    activate(ctx) {
      for (const processor of processors) ctx.contribute(taskProcessors, processor)
    }
  })
  const kernel = await testKernel(
    [orchestratorPlugin, inferenceClient, fleetPlugin, probe, others, ...plugins] as Plugin[],
    {
      settings: {
        orchestrator: {
          ...tables(toJsonSchema(orchestratorPlugin.config ?? {})),
          stubcheck_gate: false,
          auto_continue_enabled: false,
          ...options.orchestrator
        },
        'agent-fleet': { ...options.fleet },
        ...(url === undefined ? {} : { 'inference-client': { url, model: 'toy', ...options.client } })
      },
      services: toolset === undefined ? [] : [fake(mcpToolset, toolset)]
    }
  )
  t.teardown(() => kernel.close())
  if (held === undefined) throw new Error('the probe plugin is not active')
  const { tasks, fleet } = held
  const events: AgentEvent[] = []
  tasks.current.subscribe(event => events.push(event))
  if (options.start !== false) fleet.current.start()
  return {
    kernel,
    events,
    get tasks() {
      return tasks.current
    },
    get fleet() {
      return fleet.current
    },
    submit: async request =>
      (await tasks.current.submit({ description: 'Write a greeting', files: [], ...request })).task_id,
    until: (task, ...kinds) =>
      eventually(
        () => {
          const view = tasks.current.task(task)
          return view !== null && kinds.includes(view.status.kind) ? view : null
        },
        () => `task is ${kinds.join(' or ')}, but it is ${JSON.stringify(tasks.current.task(task)?.status)}`
      ),
    eventTypes: () => events.map(({ kind }) => kind.type)
  }
}

/** Resolves to the first non-null result of `look`; rejects after two minutes. */
export async function eventually<A>(
  look: () => A | null,
  expected: () => string = () => 'the expected state'
): Promise<A> {
  for (const until = Date.now() + 120_000; Date.now() < until; ) {
    const found = look()
    if (found !== null) return found
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  throw new Error(`not reached within two minutes: ${expected()}`)
}
