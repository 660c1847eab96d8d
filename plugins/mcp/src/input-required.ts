import { type InputRequiredResult, inputResponse, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { McpElicited, McpInputRequired, McpInputs, McpRoot, McpSampled } from '@svc/contracts'

/** Content of `requestState`: the handler's state and its owner. */
export interface SealedState {
  readonly state: unknown
  /** Method and tool name of the request; the state is valid only for it. */
  readonly of: string
  readonly principal: string
}

export type MintState = (sealed: SealedState) => Promise<string>

/** Returns the result in wire format, with the state signed and bound to its request and principal. */
export async function sealInputRequired(
  required: McpInputRequired,
  bound: Omit<SealedState, 'state'>,
  mint: MintState
): Promise<InputRequiredResult> {
  const { inputRequests, state } = required
  return {
    resultType: 'input_required',
    ...(inputRequests === undefined
      ? {}
      : { inputRequests: inputRequests as NonNullable<InputRequiredResult['inputRequests']> }),
    ...(state === undefined ? {} : { requestState: await mint({ ...bound, state }) })
  }
}

/** Returns the handler's state. Throws a protocol error if it belongs to another request or principal. */
export function openState(sealed: SealedState | undefined, bound: Omit<SealedState, 'state'>): unknown {
  if (sealed === undefined) return undefined
  if (sealed.of !== bound.of || sealed.principal !== bound.principal) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState', {
      reason: 'invalid_request_state'
    })
  }
  return sealed.state
}

export function readInputs(responses: Record<string, unknown> | undefined): McpInputs {
  return {
    elicited(key) {
      const view = inputResponse(responses, key)
      if (view.kind !== 'elicit') return undefined
      const { action, content } = view
      return (content === undefined ? { action } : { action, content }) satisfies McpElicited
    },
    sampled(key) {
      const view = inputResponse(responses, key)
      return view.kind === 'sampling' ? (view.result as unknown as McpSampled) : undefined
    },
    roots(key) {
      const view = inputResponse(responses, key)
      return view.kind === 'roots' ? (view.roots as unknown as readonly McpRoot[]) : undefined
    }
  }
}
