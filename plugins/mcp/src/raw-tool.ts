import type { CallToolResult, InputRequiredResult, JsonSchemaType, Tool } from '@modelcontextprotocol/server'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import type { Contribution, McpTool, UnitView } from '@svc/contracts'
import type { JsonSchema } from '@svc/plugin-sdk'
import { mcpErrors } from './errors.ts'
import { nameUnknown } from './name-unknown.ts'
import { errorResult, objectSchema, type ToolEntry, withRequestId } from './tool.ts'
import { isInputRequired, type ToolCall } from './tool-call.ts'
import { DEFAULT_TOOLSET } from './toolsets.ts'

/** Compiled schemas of one unit. Dropped with the unit, since the compiler caches every schema. */
interface Compiled {
  readonly validator: AjvJsonSchemaValidator
  readonly tools: Map<McpTool, ToolEntry>
}

const compiledByUnit = new WeakMap<UnitView, Compiled>()

/** Returns the tool of a raw contribution. Compiled once per unit, which serves in many generations. */
export function rawTool({ item, unit }: Contribution<McpTool>): ToolEntry {
  const compiled = compiledByUnit.get(unit) ?? { validator: new AjvJsonSchemaValidator(), tools: new Map() }
  compiledByUnit.set(unit, compiled)
  const entry = compiled.tools.get(item) ?? compileTool(item, unit, compiled.validator)
  compiled.tools.set(item, entry)
  return entry
}

function compileTool(item: McpTool, unit: UnitView, validator: AjvJsonSchemaValidator): ToolEntry {
  const compileFor = (schema: JsonSchema, label: string): Check =>
    compile(schema, `${label} of the tool ${item.name}`, unit, validator)
  const check = {
    input: compileFor(item.input, 'input'),
    output: item.output === undefined ? null : compileFor(item.output, 'output')
  }
  return {
    name: item.name,
    unit,
    listing: describe(item),
    scopes: item.scopes ?? [],
    readOnly: item.hints?.readOnly ?? false,
    aliases: [],
    lane: null,
    tier: 'core',
    readRole: false,
    toolsets: item.toolsets ?? [DEFAULT_TOOLSET, unit.name],
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

/** Returns the problem of a value; null if it is valid. */
type Check = (value: unknown) => string | null

async function runRawTool(
  item: McpTool,
  check: { readonly input: Check; readonly output: Check | null },
  args: Record<string, unknown>,
  call: ToolCall
): Promise<CallToolResult | InputRequiredResult> {
  try {
    const invalid = check.input(args)
    if (invalid !== null) {
      const message = `Invalid arguments for ${item.name}: ${nameUnknown(invalid, item.input, args)}`
      return errorResult(new Error(message), call.requestId)
    }
    const outcome = await item.call(args, call)
    if (isInputRequired(outcome)) return await call.seal(outcome)
    const problem = check.output === null || outcome.isError ? null : check.output(outcome.structuredContent)
    if (problem !== null) {
      return errorResult(new Error(`${item.name} returned an invalid result: ${problem}`), call.requestId)
    }
    const result = outcome as CallToolResult
    return result.isError ? withRequestId(result, call.requestId) : result
  } catch (error) {
    return errorResult(error, call.requestId)
  }
}

function compile(schema: JsonSchema, label: string, unit: UnitView, validator: AjvJsonSchemaValidator): Check {
  let check: ReturnType<AjvJsonSchemaValidator['getValidator']>
  try {
    check = validator.getValidator(schema as JsonSchemaType)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw mcpErrors.create('MCP_SCHEMA_INVALID', `the ${label} of ${unit.name} is not a valid JSON Schema: ${reason}`, {
      plugin: unit.name,
      cause
    })
  }
  return value => {
    const result = check(value)
    return result.valid ? null : result.errorMessage
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
