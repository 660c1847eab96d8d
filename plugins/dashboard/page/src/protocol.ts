import type { DashboardAction, DashboardCard, DashboardPage, DashboardRole } from '@svc/contracts'
import type { OperationDescriptor } from '@svc/plugin-sdk'

/** Session of the console, as the server describes it. Times are Unix milliseconds. */
export interface SessionInfo {
  readonly id: string
  readonly role: DashboardRole
  readonly created: number
  readonly lastUsed: number
  readonly expires: number
  readonly readOnly: boolean
  readonly current: boolean
}

/** URL of a page module: a script to import, or a document for a sandboxed frame. */
export interface ModuleSource {
  readonly kind: 'script' | 'frame'
  readonly url: string
}

export type PageInfo = DashboardPage & { readonly plugin: string; readonly module?: ModuleSource }

export interface OperationSummary {
  readonly id: string
  readonly plugin: string
  readonly summary: string
  readonly effect: OperationDescriptor['effect']
  readonly scopes: readonly string[]
  /** Whether a running call emits events. */
  readonly events: boolean
  readonly watch?: { readonly mode: 'snapshot' | 'delta'; readonly minMs: number }
  /** Whether this session may call it. */
  readonly allowed: boolean
}

/** Contribution with a mistake, which is not shown. */
export interface BrokenEntry {
  readonly plugin: string
  readonly point: string
  readonly entry: string
  readonly reason: string
}

/** Contents of the console in the serving generation. */
export interface ConsoleState {
  /** Id of the page's build; a different one means that the page has to be loaded again. */
  readonly build: string
  readonly generation: number
  readonly version: string
  readonly project: string
  readonly repositoryId: string
  readonly role: DashboardRole
  readonly readOnly: boolean
  readonly pages: readonly PageInfo[]
  readonly cards: readonly (DashboardCard & { readonly plugin: string })[]
  readonly actions: readonly (DashboardAction & { readonly plugin: string })[]
  readonly broken: readonly BrokenEntry[]
  readonly operations: readonly OperationSummary[]
}

export type OperationInfo = OperationDescriptor & {
  readonly plugin: string
  readonly allowed: boolean
  /** Name of the MCP tool; absent if it is none. */
  readonly mcp?: string
}

export interface ErrorInfo {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly data?: unknown
  readonly request_id?: string
}
