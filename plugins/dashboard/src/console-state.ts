import { basename } from 'node:path'
import type { DashboardRole, KernelPort, OperationEntry } from '@svc/contracts'
import { defined, mcpToolName, type OperationDescriptor } from '@svc/plugin-sdk'
import type { ModuleFiles, ModuleSource } from './files/module-files.ts'
import type { PageFiles } from './files/page-files.ts'
import type { BrokenEntry, Entries, Entry } from './registry/entries.ts'
import { mayCall, reaches } from './session/roles.ts'

/** Default of `minMs` of a watched operation. */
export const DEFAULT_MIN_MS = 250

/** Operation in the list that every page receives. */
export interface OperationSummary {
  readonly id: string
  readonly plugin: string
  readonly summary: string
  readonly effect: OperationDescriptor['effect']
  readonly scopes: readonly string[]
  readonly events: boolean
  readonly watch?: { readonly mode: 'snapshot' | 'delta'; readonly minMs: number }
  readonly allowed: boolean
}

export interface ConsoleStateParts {
  readonly kernel: KernelPort
  readonly entries: () => Entries
  readonly pages: PageFiles
  readonly modules: ModuleFiles
  readonly readOnly: boolean
}

/** Describes the serving generation to the page. */
export class ConsoleState {
  readonly #parts: ConsoleStateParts

  constructor(parts: ConsoleStateParts) {
    this.#parts = parts
  }

  async of(role: DashboardRole) {
    const { kernel, pages, modules, readOnly } = this.#parts
    const entries = this.#parts.entries()
    const { sources, broken } = await modules.sources()
    return {
      build: await pages.build(),
      generation: entries.generation,
      version: kernel.version,
      project: basename(kernel.projectRoot),
      repositoryId: kernel.repositoryId,
      role,
      readOnly,
      pages: pagesFor(role, entries, sources, broken),
      cards: entries.cards.map(withPlugin),
      actions: entries.actions.filter(({ item }) => reaches(role, item.role ?? 'viewer')).map(withPlugin),
      broken: [...entries.broken, ...broken],
      operations: [...kernel.current.operations.values()].map(entry => this.#summary(entry, role))
    }
  }

  /** Returns an operation with its schemas, and the name of its MCP tool if it is one. */
  describe({ descriptor, unit }: OperationEntry, role: DashboardRole): object {
    const { mcp } = descriptor.expose
    return {
      ...descriptor,
      plugin: unit.name,
      allowed: mayCall(role, this.#parts.readOnly, descriptor),
      ...defined({ mcp: mcp === undefined || mcp === false ? undefined : mcpToolName(descriptor) })
    }
  }

  #summary({ descriptor, unit }: OperationEntry, role: DashboardRole): OperationSummary {
    const { id, summary, effect, scopes, events, watch } = descriptor
    return {
      id,
      plugin: unit.name,
      summary,
      effect,
      scopes,
      events: events !== undefined,
      ...(watch === undefined
        ? {}
        : { watch: { mode: watch.mode ?? 'snapshot', minMs: watch.minMs ?? DEFAULT_MIN_MS } }),
      allowed: mayCall(role, this.#parts.readOnly, descriptor)
    }
  }
}

function withPlugin<A extends object>({ item, unit }: Entry<A>): A & { plugin: string } {
  return { ...item, plugin: unit.name }
}

function pagesFor(
  role: DashboardRole,
  { pages }: Entries,
  sources: ReadonlyMap<string, ModuleSource>,
  broken: readonly BrokenEntry[]
) {
  return pages
    .filter(({ item }) => reaches(role, item.role ?? 'viewer') && !broken.some(({ entry }) => entry === item.path))
    .map(entry => ({ ...withPlugin(entry), ...defined({ module: sources.get(entry.item.path) }) }))
}
