import {
  coordinationBackend,
  type KernelAdmin,
  kernelAdmin,
  type McpToolset,
  mcpToolset,
  type Orchestrator,
  orchestrator as orchestratorToken,
  type RepositoryTasks,
  repositoryTasks
} from '@svc/contracts'
import a2a from '@svc/plugin-a2a'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin, type Ref, ref } from '@svc/plugin-sdk'
import { fake, type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import '../../database/test/built-worker.ts'
import mcp from '@svc/plugin-mcp'
import orchestrator from '@svc/plugin-orchestrator'
import sessions from '@svc/plugin-sessions'
import plugin from '#plugin'

interface Teardown {
  teardown(run: () => unknown): unknown
}

/** Contents of a tool result's envelope. */
export interface Envelope {
  readonly success: boolean
  readonly data?: unknown
  readonly error?: string
  readonly remediation?: string
}

export interface World {
  readonly kernel: TestKernel
  readonly orchestrator: Orchestrator
  readonly tasks: Ref<RepositoryTasks>
  /** Calls a tool, and returns the result that an MCP client gets. The prefix `svc_` may be omitted. */
  tool(name: string, args?: object, role?: string): Promise<Envelope>
  readonly toolset: McpToolset
}

/** Opens the tools with the real orchestrator and related plugins, in a temporary folder. */
export async function openWorld(
  t: Teardown,
  options: {
    readonly database?: boolean
    readonly without?: readonly string[]
    /** Additional plugins. */
    readonly more?: readonly Plugin[]
    readonly settings?: object
    /** Value of the setting `plugins.daemon.socket`. */
    readonly socket?: string
    /** Address of the plugin daemon, if it is in {@link more}. */
    readonly daemon?: string
    /** File of the database; default: in the project. */
    readonly databaseFile?: string
  } = {}
): Promise<World> {
  let held: {
    readonly tasks: Ref<Orchestrator>
    readonly tools: Ref<McpToolset>
    readonly repository: Ref<RepositoryTasks>
  }
  const probe = definePlugin({
    name: 'probe',
    requires: { tasks: ref(orchestratorToken), tools: ref(mcpToolset), repository: ref(repositoryTasks) },
    activate: (_ctx, deps) => {
      held = deps
    }
  })
  const all = [...(options.database ? [database] : []), orchestrator, sessions, a2a, mcp, plugin, probe] as Plugin[]
  const plugins = [...all.filter(({ name }) => !options.without?.includes(name)), ...(options.more ?? [])]
  const settings = {
    orchestrator: { stubcheck_gate: false, auto_continue_enabled: false, ...options.settings },
    ...(options.daemon === undefined ? {} : { daemon: { socket: options.daemon } }),
    ...(options.databaseFile === undefined ? {} : { database: { path: options.databaseFile } })
  }
  const services = [
    fake(kernelAdmin, adminOf(options.socket, options.daemon !== undefined)),
    fake(coordinationBackend, { store: null })
  ]
  const kernel = await testKernel(plugins, { settings, services })
  t.teardown(() => kernel.close())
  return {
    kernel,
    get orchestrator() {
      return held.tasks.current
    },
    get tasks() {
      return held.repository
    },
    get toolset() {
      return held.tools.current
    },
    async tool(name, args = {}, role = 'owner') {
      const full = name.startsWith('svc_') || name === 'task_status' ? name : `svc_${name}`
      const principal = { id: 'tester', role, scopes: ['*'] }
      const result = await held.tools.current.call(full, args as Record<string, unknown>, { principal })
      if (result === null) throw new Error(`there is no tool ${full}`)
      return result.structuredContent as Envelope
    }
  }
}

function adminOf(socket = '', serves = false): KernelAdmin {
  const key = 'plugins.daemon.socket'
  const settings: KernelAdmin['settings'] = prefix =>
    prefix === key ? [{ key, value: socket } as ReturnType<KernelAdmin['settings']>[number]] : []
  return { serves, settings } as KernelAdmin
}

/** Waits for a condition; only the timeout of the test file limits it. */
export async function until<A>(look: () => A | null | undefined | false | Promise<A | null | undefined | false>) {
  for (;;) {
    const found = await look()
    if (found) return found
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
