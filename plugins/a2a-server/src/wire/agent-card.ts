import type { AgentCard, AgentInterface, AgentSkill } from '@a2a-js/sdk'
import { MESH_EXTENSION } from '../tasks/snapshot.ts'
import { INPUT_MODES, OUTPUT_MODES } from './input.ts'

/** Path of both bindings. */
export const A2A_PATH = '/a2a/v1'
const BEARER_SCHEME = 'bearer'

export interface CardFacts {
  readonly name: string
  readonly description: string
  readonly version: string
  /** URL of the server without a trailing slash. */
  readonly url: string
  readonly push: boolean
  readonly v0_3: boolean
}

/** Returns the public card of the agent. */
export function agentCard({ name, description, version, url, push, v0_3 }: CardFacts): AgentCard {
  const at = (protocolBinding: string, protocolVersion: string): AgentInterface => ({
    url: url + A2A_PATH,
    protocolBinding,
    protocolVersion,
    tenant: ''
  })
  return {
    name,
    description,
    version,
    supportedInterfaces: [at('JSONRPC', '1.0'), at('HTTP+JSON', '1.0'), ...(v0_3 ? [at('JSONRPC', '0.3')] : [])],
    provider: undefined,
    capabilities: {
      streaming: true,
      pushNotifications: push,
      extendedAgentCard: true,
      extensions: [
        {
          uri: MESH_EXTENSION,
          description:
            'Tasks and status updates have facts of the orchestrator in their metadata: task_id, placement_reason, campaign_id, exec_lease_id. Messages may set campaign_id and priority.',
          required: false,
          params: undefined
        }
      ]
    },
    securitySchemes: {
      [BEARER_SCHEME]: {
        scheme: {
          $case: 'httpAuthSecurityScheme',
          value: { scheme: 'Bearer', bearerFormat: '', description: 'The bearer token of this server.' }
        }
      }
    },
    securityRequirements: [{ schemes: { [BEARER_SCHEME]: { list: [] } } }],
    defaultInputModes: INPUT_MODES,
    defaultOutputModes: OUTPUT_MODES,
    skills: [skill('task', 'Task', 'Works on a task that is described in plain text.', ['tasks'])],
    signatures: []
  }
}

/** Returns the card for authenticated callers: with the kinds of agents that are available as skills. */
export function extendedAgentCard(card: AgentCard, agents: readonly { readonly name: string }[]): AgentCard {
  const names = [...new Set(agents.map(({ name }) => name))].slice(0, 100)
  const skills = names.map(name => skill(`agent:${name}`, name, `Tasks for the agent ${name}.`, ['agent']))
  return { ...card, skills: [...card.skills, ...skills] }
}

function skill(id: string, name: string, description: string, tags: string[]): AgentSkill {
  return {
    id,
    name,
    description,
    tags,
    examples: [],
    inputModes: INPUT_MODES,
    outputModes: OUTPUT_MODES,
    securityRequirements: []
  }
}
