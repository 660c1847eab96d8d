import { mcpErrors } from './errors.ts'
import type { ToolEntry } from './tool.ts'

/** Toolset that a client receives unless it chooses others. */
export const DEFAULT_TOOLSET = 'default'
/** Choice that stands for every toolset. */
export const ALL_TOOLSETS = 'all'

/** Toolset of the tools that list and enable toolsets. It is part of every choice. */
export const ALWAYS_LISTED = 'toolsets'

/** Descriptions of the toolsets of svc. A toolset of another plugin is described by its tools. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  [DEFAULT_TOOLSET]: 'The tools that most sessions need: tasks, plans, files of the project, programs, open questions.',
  agents: 'Create, pause, retire and rate agents, and hand their work over.',
  apps: 'Describe served programs and send them requests.',
  browser: 'Open web pages in a real browser, click, fill in fields and read them.',
  budgets: 'Budgets of tokens, costs and attention, and the usual duration of tools.',
  checks: 'Find placeholders, secrets and other problems in the source of the project.',
  chat: 'Ask the configured model about the project, or let it write a program.',
  files: 'Which agent owns or locks which file.',
  language: 'Check, format and run programs of the vox language.',
  mesh: 'Machines of the mesh, their leases, and the tasks that were placed on them.',
  messages: 'Messages and questions between agents, and questions to the user.',
  models: 'Models that are served, their load, and requests to them.',
  planning: 'Draft plans, follow them, and change them.',
  reward: 'Level, quests, notifications, shop and battles of the user.',
  scientia: 'Publications: store, check, approve and rate them, and submit them to archives.',
  search: 'Search memories, knowledge, documents, files and the web; store memories.',
  sessions: 'Sessions of agents, and values that they share.',
  skills: 'Skills of external gateways, and approvals of them.',
  speech: 'Transcribe recordings.',
  status: 'State of the orchestrator, of the database, and of events.',
  telemetry: 'Benchmark rows, and what waits for an upload.',
  tasks: 'Submit, follow, complete, review and cancel tasks.',
  [ALWAYS_LISTED]: 'Find and add toolsets. Always listed.',
  workflows: 'Runs of workflows, and their journals.',
  workspace: 'Git, checks and edits of files, modules and preferences of the project.'
}

/** A toolset of a catalog. */
export interface Toolset {
  readonly name: string
  readonly description: string
  readonly tools: readonly ToolEntry[]
}

/** Returns the toolsets of some tools, sorted by name. Toolsets without a tool are left out. */
export function toolsetsOf(tools: Iterable<ToolEntry>): readonly Toolset[] {
  const members = new Map<string, ToolEntry[]>()
  for (const tool of tools) for (const name of tool.toolsets) members.set(name, [...(members.get(name) ?? []), tool])
  return [...members]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, tools]) => ({ name, description: DESCRIPTIONS[name] ?? `Tools of the plugin ${name}.`, tools }))
}

/** True if svc or a tool names this toolset; also if no active plugin has tools in it. */
export function isToolset(name: string, tools: Iterable<ToolEntry>): boolean {
  if (name === ALL_TOOLSETS || Object.hasOwn(DESCRIPTIONS, name)) return true
  for (const { toolsets } of tools) if (toolsets.includes(name)) return true
  return false
}

/** Returns an error for a name that is no toolset. */
export function unknownToolset(name: string, tools: Iterable<ToolEntry>, place: string): Error {
  const known = toolsetsOf(tools).map(each => each.name)
  return mcpErrors.create('MCP_TOOLSET_UNKNOWN', `${place}: no toolset is named ${JSON.stringify(name.slice(0, 64))}`, {
    data: { toolset: name.slice(0, 64), known },
    hint: `use one of: ${[ALL_TOOLSETS, ...known].join(', ')}`
  })
}

/** Whether `tools/list` has the schemas of outputs: always, or never. */
export type OutputSchemas = 'none' | 'full'

/** Choice of a client: of its URL, or of its command line. Absent fields follow the settings. */
export interface ToolChoice {
  readonly toolsets?: readonly string[]
  readonly outputSchemas?: OutputSchemas
}

/** Splits a comma-separated list; undefined if it has no name. */
export function toolsetNames(list: string | null | undefined): readonly string[] | undefined {
  const names = (list ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
  return names.length === 0 ? undefined : names
}

/** Reads `?toolsets=` and `?output_schemas=` of a URL. Throws `MCP_TOOL_CHOICE_INVALID`. */
export function choiceOf(url: string | undefined): ToolChoice {
  if (url === undefined || !url.includes('?')) return {}
  const { searchParams } = new URL(url)
  const toolsets = toolsetNames(searchParams.get('toolsets'))
  const outputSchemas = searchParams.get('output_schemas')
  if (outputSchemas !== null && outputSchemas !== 'none' && outputSchemas !== 'full') {
    const value = JSON.stringify(outputSchemas.slice(0, 64))
    throw mcpErrors.create('MCP_TOOL_CHOICE_INVALID', `output_schemas of the URL is ${value}`, {
      hint: 'use none or full'
    })
  }
  return { ...(toolsets === undefined ? {} : { toolsets }), ...(outputSchemas === null ? {} : { outputSchemas }) }
}

/** Settings that choose the tools of clients. */
export interface ToolsetSettings {
  readonly toolsets: readonly string[]
  readonly client_toolsets: Readonly<Record<string, readonly string[]>>
  readonly output_schemas: OutputSchemas
}

/**
 * Returns the chosen toolsets: those of the choice, else those that the settings name for the client, else those of all
 * clients. Names of clients are compared without case.
 */
export function chosenToolsets(settings: ToolsetSettings, choice: ToolChoice, client: string): readonly string[] {
  if (choice.toolsets !== undefined) return choice.toolsets
  const name = client.toLowerCase()
  const found = Object.entries(settings.client_toolsets).find(([key]) => key.toLowerCase() === name)
  return found?.[1] ?? settings.toolsets
}

/** Tools that one client receives. */
export interface ToolView {
  /** Names of its toolsets, with those that it enabled. */
  readonly toolsets: ReadonlySet<string>
  /** Adds a toolset, and notifies the client that its list of tools changed. */
  enable(name: string): void
}

/** True if a client with this view receives the tool. */
export function isListed({ toolsets }: Pick<ToolView, 'toolsets'>, tool: Pick<ToolEntry, 'toolsets'>): boolean {
  return toolsets.has(ALL_TOOLSETS) || tool.toolsets.some(name => toolsets.has(name))
}
