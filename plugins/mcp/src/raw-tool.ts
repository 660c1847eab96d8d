import {
  type CallToolResult,
  fromJsonSchema,
  type InputRequiredResult,
  type JsonSchemaType,
  type StandardSchemaV1,
  type Tool
} from '@modelcontextprotocol/server'
import type { Contribution, McpTool, UnitView } from '@svc/contracts'
import type { JsonSchema } from '@svc/plugin-sdk'
import { mcpErrors } from './errors.ts'
import { isInputRequired } from './input-required.ts'
import type { RequestCall } from './request-call.ts'
import { errorResult, objectSchema, type ToolEntry } from './tool.ts'

/** A tool that speaks MCP itself. */
export function rawTool({ item, unit }: Contribution<McpTool>): ToolEntry {
  const check = {
    input: compile(item.input, `input of the tool ${item.name}`, unit),
    output: item.output === undefined ? null : compile(item.output, `output of the tool ${item.name}`, unit)
  }
  return {
    name: item.name,
    unit,
    listing: describe(item),
    scopes: item.scopes ?? [],
    readOnly: item.hints?.readOnly ?? false,
    requires: item.requires ?? {},
    available: () => item.available?.() ?? true,
    async run(args, call) {
      unit.enter()
      try {
        return await runRawTool(item, check, args, call)
      } finally {
        unit.exit()
      }
    }
  }
}

type Check = (value: unknown) => Promise<string | null>

async function runRawTool(
  item: McpTool,
  check: { readonly input: Check; readonly output: Check | null },
  args: Record<string, unknown>,
  call: RequestCall
): Promise<CallToolResult | InputRequiredResult> {
  try {
    const wrong = await check.input(args)
    if (wrong !== null) return errorResult(new Error(`Invalid arguments for ${item.name}: ${wrong}`))
    const outcome = await item.call(args, call)
    if (isInputRequired(outcome)) return await call.seal(outcome)
    const problem = check.output === null || outcome.isError ? null : await check.output(outcome.structuredContent)
    if (problem !== null) return errorResult(new Error(`${item.name} returned an invalid result: ${problem}`))
    return outcome as CallToolResult
  } catch (error) {
    return errorResult(error)
  }
}

function compile(schema: JsonSchema, what: string, unit: UnitView): Check {
  let standard: StandardSchemaV1['~standard']
  try {
    standard = fromJsonSchema(schema as JsonSchemaType)['~standard']
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw mcpErrors.create('MCP_SCHEMA_INVALID', `the ${what} of ${unit.name} is no usable JSON Schema: ${reason}`, {
      plugin: unit.name,
      cause
    })
  }
  return async value => {
    const result = await standard.validate(value)
    return result.issues === undefined ? null : result.issues.map(issue => issue.message).join('; ')
  }
}

function describe(item: McpTool): Tool {
  const { hints = {} } = item
  return {
    name: item.name,
    ...(item.title === undefined ? {} : { title: item.title }),
    description: item.description,
    inputSchema: objectSchema(item.input),
    ...(item.output === undefined ? {} : { outputSchema: item.output as NonNullable<Tool['outputSchema']> }),
    annotations: {
      ...(item.title === undefined ? {} : { title: item.title }),
      ...(hints.readOnly === undefined ? {} : { readOnlyHint: hints.readOnly }),
      ...(hints.destructive === undefined ? {} : { destructiveHint: hints.destructive }),
      ...(hints.idempotent === undefined ? {} : { idempotentHint: hints.idempotent }),
      ...(hints.openWorld === undefined ? {} : { openWorldHint: hints.openWorld })
    },
    ...(item.icons === undefined ? {} : { icons: item.icons as NonNullable<Tool['icons']> }),
    ...(item._meta === undefined ? {} : { _meta: item._meta as NonNullable<Tool['_meta']> })
  }
}
