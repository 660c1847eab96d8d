import type { ChatTool } from '@svc/contracts'
import { invalid } from '../body-reader.ts'
import type { ToolIntent } from '../chat-plan.ts'
import { functionTools, strictNames } from '../function-tools.ts'
import { unsupported } from '../unsupported-fields.ts'
import type { ChatBody } from './chat-body.ts'

const FIELD = 'tool_choice'

/**
 * Returns the functions that the model may call, and whether it must call one. Returns undefined if it may call none.
 * Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, naming the field.
 */
export function toolIntent(
  body: Pick<ChatBody, 'tools' | 'tool_choice' | 'parallel_tool_calls'>
): ToolIntent | undefined {
  const { tools = [], tool_choice: choice = 'auto' } = body
  const functions = functionTools(tools)
  if (functions.length === 0) {
    if (choice === 'none' || choice === 'auto') return undefined
    throw invalid(`'${FIELD}' is only allowed when 'tools' are given`, FIELD)
  }
  if (choice === 'none') return undefined
  const strict = strictNames(tools)
  const several = body.parallel_tool_calls ?? true
  if (choice === 'auto') return { functions, forced: [], several, strict }
  if (choice === 'required') return { functions, forced: functions, several, strict }
  const chosen: { readonly type: string; readonly [field: string]: unknown } = choice
  if (chosen.type === 'function')
    return { functions, forced: [named(functions, chosen.function)], several: false, strict }
  if (chosen.type === 'allowed_tools') {
    const { mode, allowed } = allowedTools(chosen.allowed_tools, functions)
    return { functions: allowed, forced: mode === 'required' ? allowed : [], several, strict }
  }
  throw unsupported(FIELD, `a choice of type '${chosen.type}' is not supported, only 'function' and 'allowed_tools'`)
}

function allowedTools(value: unknown, functions: readonly ChatTool[]) {
  const { mode, tools } = (value ?? {}) as { mode?: unknown; tools?: unknown }
  if ((mode !== 'auto' && mode !== 'required') || !Array.isArray(tools) || tools.length === 0) {
    const place = `${FIELD}.allowed_tools`
    throw invalid(`'${place}' must have a 'mode' of 'auto' or 'required', and a list of 'tools'`, place)
  }
  return { mode, allowed: tools.map(tool => named(functions, (tool as { function?: unknown } | null)?.function)) }
}

function named(functions: readonly ChatTool[], value: unknown): ChatTool {
  const { name } = (value ?? {}) as { name?: unknown }
  const found = functions.find(each => each.name === name)
  if (found !== undefined) return found
  throw invalid(`'${FIELD}' names the function ${JSON.stringify(name ?? null)}, which is not among 'tools'`, FIELD)
}
