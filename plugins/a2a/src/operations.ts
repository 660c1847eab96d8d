import { orchestrationErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { MESSAGES_TOPIC } from './console.ts'
import { a2aErrors } from './errors.ts'
import { deadLetterSchema, messageSchema, planeSchema, routeSchema } from './wire.ts'

const { ORC_AGENT_NOT_FOUND, ORC_HUMAN_REQUIRED, ORC_NO_DATABASE, ORC_SESSION_MISMATCH } = orchestrationErrors.specs
const { MSG_CLARIFICATION_INVALID, MSG_MESH_OFF, MSG_MESSAGE_AMBIGUOUS, MSG_PLANE_UNKNOWN, MSG_PLANE_UNSUITED } =
  a2aErrors.specs

/** Maximum delay of a message: 30 days. */
const MAX_DELAY_MS = 2_592_000_000

const agent = (description: string) => t.integer({ minimum: 0, description })
const text = (maxLength: number, description: string) => t.optional(t.string({ minLength: 1, maxLength, description }))

const content = {
  msg_type: t.string({
    minLength: 1,
    maxLength: 128,
    description: 'For example progress_update, help_request, error_report, conflict_detected, free_form.'
  }),
  payload: t.string({ maxLength: 262_144, description: 'Content of the message; JSON for clarifications.' })
}

const priority = t.optional(
  t.enum(['low', 'normal', 'high', 'critical'], {
    description: 'Messages of higher priority are read first. Default: normal.'
  })
)

const SESSION = 'Session of the caller; required if the agent is bound to a session.'

export const a2aSend = defineOperation({
  id: 'a2a.send',
  summary: 'Send a message from one agent to another',
  input: t.object({
    sender_id: agent('Sending agent.'),
    receiver_id: agent('Receiving agent.'),
    ...content,
    correlation_id: text(256, 'Groups related messages; also returned as idempotency_key if that is not set.'),
    tenant_id: text(256, 'Default: the account of the orchestrator.'),
    sender_session_id: text(2_048, SESSION),
    route: t.string({
      default: 'local',
      minLength: 1,
      maxLength: 64,
      description: 'local: in this process; db: stored until acknowledged; mesh; or the route of a contributed plane.'
    }),
    idempotency_key: text(256, 'A second message with the same key, sender and receiver is not delivered.'),
    thread_id: text(256, 'Conversation of the message.'),
    priority,
    ttl_ms: t.optional(t.integer({ minimum: 1, description: 'Time to live of a local message in milliseconds.' })),
    delay_ms: t.optional(
      t.integer({ minimum: 0, maximum: MAX_DELAY_MS, description: 'Milliseconds until a durable message can be read.' })
    ),
    max_attempts: t.optional(
      t.integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'Deliveries after which an unacknowledged durable message becomes a dead letter.'
      })
    )
  }),
  output: t.object({
    message_id: t.optional(t.integer({ description: 'Absent if the message was not sent.' })),
    db_message_uuid: t.optional(t.string()),
    sender: t.integer(),
    receiver: t.integer(),
    route: t.string(),
    delivery_plane: planeSchema,
    route_ok: t.boolean({ description: 'Whether the message was sent.' }),
    idempotency_key: t.optional(t.string()),
    correlation_id: t.nullable(t.string()),
    tenant_id: t.nullable(t.string()),
    relay_attempted: t.boolean({ description: 'Whether the message was sent over a contributed plane, such as mesh.' }),
    relay_ok: t.boolean({ description: 'Whether that plane accepted it.' }),
    dropped_messages: t.integer({ description: 'Number of older messages that the full inbox dropped.' }),
    sender_identity_binding: t.enum(['verified', 'unbound']),
    binding_advisory: t.optional(t.string()),
    receiver_advisory: t.optional(t.string()),
    decision: t.optional(t.enum(['DeferUntilCheckpoint', 'ProceedAutonomously'])),
    deferred: t.optional(
      t.boolean({ description: 'Whether to send the message again later; only if it was not sent.' })
    ),
    reason: t.optional(t.string())
  }),
  errors: {
    ORC_AGENT_NOT_FOUND,
    ORC_SESSION_MISMATCH,
    ORC_HUMAN_REQUIRED,
    ORC_NO_DATABASE,
    MSG_MESH_OFF,
    MSG_PLANE_UNKNOWN,
    MSG_PLANE_UNSUITED,
    MSG_CLARIFICATION_INVALID
  },
  expose: {
    mcp: {
      name: 'svc_a2a_send',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'For one receiver. To ask and wait for an answer use svc_ask_agent; for all agents svc_a2a_broadcast.'
    },
    rpc: true,
    cli: { command: 'a2a send', args: ['sender_id', 'receiver_id', 'msg_type', 'payload'] }
  }
})

export const a2aInbox = defineOperation({
  id: 'a2a.inbox',
  summary: "Read an agent's unacknowledged messages",
  input: t.object({
    agent_id: agent('Agent whose messages are read.'),
    source: t.string({
      default: 'merged',
      minLength: 1,
      maxLength: 64,
      description: 'A route, or merged for all planes.'
    }),
    max_messages: t.integer({ default: 256, minimum: 1, maximum: 2_048, description: 'Maximum number of messages.' }),
    before_message_id: t.optional(
      t.integer({ minimum: 1, description: 'Returns only messages with smaller ids, in each plane.' })
    ),
    agent_session_id: text(2_048, SESSION)
  }),
  output: t.object({
    agent_id: t.integer(),
    source: t.string(),
    delivery_planes: t.array(planeSchema, { description: 'Planes that were read.' }),
    routes: t.array(t.string(), { description: 'Routes of these planes.' }),
    unread_count: t.integer(),
    remote_attempted: t.boolean({ description: 'Whether contributed planes, such as mesh, were read.' }),
    remote_ok: t.boolean({ description: 'Whether all of them could be read.' }),
    dropped_messages: t.integer(),
    suppressed_count: t.integer({ description: 'Number of messages not returned because the user is in deep focus.' }),
    focus_depth_filter_active: t.boolean(),
    sender_identity_binding: t.enum(['verified', 'unbound']),
    binding_advisory: t.optional(t.string()),
    messages: t.array(messageSchema)
  }),
  errors: { ORC_AGENT_NOT_FOUND, ORC_SESSION_MISMATCH, ORC_NO_DATABASE, MSG_MESH_OFF, MSG_PLANE_UNKNOWN },
  // Reading claims a durable message.
  effect: 'write',
  expose: {
    mcp: {
      name: 'svc_a2a_inbox',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'Unread messages of one agent, of this process and of the mesh. Acknowledge each with svc_a2a_ack.'
    },
    rpc: true,
    cli: {
      command: 'a2a inbox',
      args: ['agent_id'],
      view: { rows: 'messages', columns: ['id', 'sender', 'msg_type', 'priority', 'delivery_plane', 'payload'] }
    }
  }
})

export const a2aAck = defineOperation({
  id: 'a2a.ack',
  summary: 'Acknowledge a message, so that it is not delivered again',
  input: t.object({
    agent_id: agent('Receiving agent.'),
    message_id: t.union([t.integer({ minimum: 1 }), t.string({ minLength: 1, maxLength: 64 })], {
      description: 'Id of the message, or UUID of a durable message.'
    }),
    route: t.optional(
      t.string({
        minLength: 1,
        maxLength: 64,
        description: 'Route of the plane; required if two planes have a message with the id.'
      })
    ),
    fence: t.optional(
      t.integer({
        minimum: 1,
        description: 'Fence of the delivery: acknowledges only if no other consumer has received the message since.'
      })
    ),
    agent_session_id: text(2_048, 'Session of the caller; checked if present.')
  }),
  output: t.object({
    agent_id: t.integer(),
    message_id: t.union([t.integer(), t.string()]),
    acknowledged: t.boolean({
      description: 'False if the agent has no such unacknowledged message, or if the fence is not current.'
    })
  }),
  errors: { ORC_SESSION_MISMATCH, ORC_NO_DATABASE, MSG_MESH_OFF, MSG_MESSAGE_AMBIGUOUS, MSG_PLANE_UNKNOWN },
  idempotent: true,
  expose: {
    mcp: {
      name: 'svc_a2a_ack',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'Call it after you processed a message of svc_a2a_inbox. To return one that you could not process, use svc_a2a_nack.'
    },
    rpc: true,
    cli: { command: 'a2a ack', args: ['agent_id', 'message_id'] }
  }
})

const messageId = t.union([t.integer({ minimum: 1 }), t.string({ minLength: 1, maxLength: 64 })], {
  description: 'Id of the message, or UUID of a durable message.'
})
const fence = t.integer({ minimum: 1, description: 'Fence of the delivery, from the inbox.' })
const leasedRoute = t.string({
  default: 'db',
  minLength: 1,
  maxLength: 64,
  description: 'Route of a plane with leases: db, or a contributed one.'
})
const claimErrors = { ORC_SESSION_MISMATCH, ORC_NO_DATABASE, MSG_MESH_OFF, MSG_PLANE_UNKNOWN, MSG_PLANE_UNSUITED }
const checkedSession = text(2_048, 'Session of the caller; checked if present.')

export const a2aExtend = defineOperation({
  id: 'a2a.extend',
  summary: 'Extend the lease of a message that takes longer to process',
  input: t.object({
    agent_id: agent('Receiving agent.'),
    message_id: messageId,
    fence,
    lease_ms: t.optional(
      t.integer({
        minimum: 1_000,
        maximum: 3_600_000,
        description: 'Milliseconds from now on; default: the setting lease_ms.'
      })
    ),
    route: leasedRoute,
    agent_session_id: checkedSession
  }),
  output: t.object({
    extended: t.boolean({ description: 'False if the lease has expired or the fence is not current.' })
  }),
  errors: claimErrors,
  expose: {
    mcp: {
      name: 'svc_a2a_extend',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'Call it before the lease of a claimed message ends, or another consumer receives the message.'
    },
    rpc: true,
    cli: { command: 'a2a extend', args: ['agent_id', 'message_id', 'fence'] }
  }
})

export const a2aNack = defineOperation({
  id: 'a2a.nack',
  summary: 'Return a message that was not processed, at once or after a delay',
  input: t.object({
    agent_id: agent('Receiving agent.'),
    message_id: messageId,
    fence,
    delay_ms: t.integer({
      default: 0,
      minimum: 0,
      maximum: MAX_DELAY_MS,
      description: 'Milliseconds until the message can be read again.'
    }),
    error: text(4_096, 'Why the message was not processed.'),
    reject: t.boolean({ default: false, description: 'Makes the message a dead letter at once.' }),
    route: leasedRoute,
    agent_session_id: checkedSession
  }),
  output: t.object({ returned: t.boolean({ description: 'False if the fence is not current.' }) }),
  errors: claimErrors,
  expose: {
    mcp: {
      name: 'svc_a2a_nack',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'Use it when processing failed and may work later. A message that is rejected for good becomes a dead letter.'
    },
    rpc: true,
    cli: { command: 'a2a nack', args: ['agent_id', 'message_id', 'fence'] }
  }
})

export const a2aDead = defineOperation({
  id: 'a2a.dead',
  summary: 'List messages that were delivered too often or rejected, newest first',
  input: t.object({
    agent_id: t.optional(agent('Receiving agent; default: all agents.')),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Maximum number of messages.' }),
    before_message_id: t.optional(t.integer({ minimum: 1, description: 'Lists only messages with smaller ids.' })),
    route: leasedRoute
  }),
  output: t.object({ messages: t.array(deadLetterSchema) }),
  errors: claimErrors,
  effect: 'read',
  watch: { on: [MESSAGES_TOPIC], minMs: 1_000 },
  expose: {
    mcp: {
      name: 'svc_a2a_dead',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'Read it when a message never arrived. svc_a2a_revive delivers one of them again.'
    },
    rpc: true,
    cli: {
      command: 'a2a dead',
      args: ['agent_id'],
      view: { rows: 'messages', columns: ['id', 'sender', 'msg_type', 'attempts', 'error', 'payload'] }
    }
  }
})

export const a2aRevive = defineOperation({
  id: 'a2a.revive',
  summary: 'Deliver a dead letter again',
  input: t.object({
    agent_id: agent('Receiving agent.'),
    message_id: t.integer({ minimum: 1, description: 'Id of the dead letter.' }),
    route: leasedRoute
  }),
  output: t.object({ revived: t.boolean({ description: 'False if the agent has no such dead letter.' }) }),
  errors: claimErrors,
  expose: {
    mcp: {
      name: 'svc_a2a_revive',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'Only for messages that svc_a2a_dead lists, after their cause is fixed.'
    },
    rpc: true,
    cli: { command: 'a2a revive', args: ['agent_id', 'message_id'] }
  }
})

export const a2aBroadcast = defineOperation({
  id: 'a2a.broadcast',
  summary: 'Send a message to every other agent of this process',
  input: t.object({
    sender_id: agent('Sending agent.'),
    ...content,
    correlation_id: text(256, 'Groups related messages.'),
    thread_id: text(256, 'Conversation of the message.'),
    priority,
    sender_session_id: text(2_048, 'Session of the caller; checked if present.')
  }),
  output: t.object({
    message_id: t.integer(),
    sender: t.integer(),
    delivery_plane: planeSchema,
    route: routeSchema,
    receivers: t.integer({ description: 'Number of agents that received the message.' }),
    dropped_messages: t.integer({ description: 'Number of older messages that full inboxes dropped.' })
  }),
  errors: { ORC_AGENT_NOT_FOUND, ORC_SESSION_MISMATCH },
  expose: {
    mcp: {
      name: 'svc_a2a_broadcast',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'For messages with a type and a payload. For a plain note of an agent use svc_broadcast; for one receiver svc_a2a_send.'
    },
    rpc: true,
    cli: { command: 'a2a broadcast', args: ['sender_id', 'msg_type', 'payload'] }
  }
})

export const a2aHistory = defineOperation({
  id: 'a2a.history',
  summary: 'List the last messages, oldest first',
  input: t.object({
    since_ms: t.optional(
      t.integer({ minimum: 0, description: 'Lists only messages since this time, in Unix milliseconds.' })
    ),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Maximum number of messages.' })
  }),
  output: t.object({ messages: t.array(messageSchema) }),
  effect: 'read',
  expose: {
    mcp: {
      name: 'svc_a2a_history',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['messages'],
      use: 'Messages of all agents, acknowledged ones too. For the unread messages of one agent use svc_a2a_inbox.'
    },
    rpc: true,
    cli: {
      command: 'a2a history',
      view: { rows: 'messages', columns: ['id', 'sender', 'receiver', 'msg_type', 'delivery_plane', 'acknowledged'] }
    }
  }
})

export const a2aMessages = defineOperation({
  id: 'a2a.messages',
  summary: 'List the last messages with the first characters of their contents, oldest first',
  input: t.object({ limit: t.integer({ default: 150, minimum: 1, maximum: 150 }) }),
  output: t.object({
    messages: t.array(
      t.object({
        key: t.string({ description: 'Unique among the messages of all planes.' }),
        id: t.integer(),
        sender: t.integer(),
        sender_name: t.string({ description: 'Name of the agent, or its label if the agent is gone.' }),
        receiver: t.nullable(t.integer()),
        receiver_name: t.string({ description: 'As sender_name; all for a broadcast.' }),
        msg_type: t.string(),
        content: t.string({ description: 'Text of a clarification, else the payload; the first 400 characters.' }),
        priority: t.string(),
        delivery_plane: planeSchema,
        route: routeSchema,
        acknowledged: t.boolean(),
        timestamp_ms: t.integer()
      })
    )
  }),
  effect: 'read',
  watch: { on: [MESSAGES_TOPIC], minMs: 500 },
  expose: { rpc: true }
})

const STATES = ['submitted', 'working', 'input_required', 'completed', 'failed', 'canceled'] as const

export const a2aTasks = defineOperation({
  id: 'a2a.tasks',
  summary: 'List tasks in the states of the A2A protocol, newest first',
  input: t.object({
    agent_id: t.optional(agent('Only tasks of this agent.')),
    state: t.optional(t.enum(STATES, { description: 'Only tasks in this state.' })),
    own: t.boolean({ default: false, description: 'Only tasks that the answering process holds.' }),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Maximum number of tasks.' })
  }),
  output: t.object({
    tasks: t.array(
      t.object({
        task_id: t.integer(),
        context_id: t.nullable(t.string({ description: 'Thread of the task, or its session.' })),
        agent_id: t.integer(),
        agent_name: t.string({ description: 'Name of the agent, or its label if the agent is gone.' }),
        state: t.enum(STATES),
        status: t.string({ description: 'Status in the orchestrator.' }),
        description: t.string({ description: 'The first 200 characters.' }),
        created_at_ms: t.integer(),
        holder: t.optional(t.string({ description: 'Process that holds the task, for example 4711 on box.' }))
      })
    )
  }),
  effect: 'read',
  expose: {
    mcp: {
      name: 'svc_a2a_tasks',
      result: 'tool-result',
      lane: 'ai',
      toolsets: ['tasks'],
      use: 'For peers that speak the A2A protocol. For the queues of this project use svc_queue_status.'
    },
    rpc: true,
    cli: {
      command: 'a2a tasks',
      view: { rows: 'tasks', columns: ['task_id', 'agent_id', 'state', 'status', 'holder', 'description'] }
    }
  }
})

export const a2aWatch = defineOperation({
  id: 'a2a.watch',
  summary: 'Print messages between agents as they are sent, one JSON line each',
  input: t.object({ agent_id: t.optional(agent('Only messages that this agent sends or receives.')) }),
  output: t.object({ messages: t.integer({ description: 'Number of messages printed.' }) }),
  events: messageSchema,
  effect: 'read',
  idempotent: false,
  timeoutMs: 0,
  expose: { rpc: true, cli: { command: 'a2a watch' } }
})

export const operations = [
  a2aSend,
  a2aInbox,
  a2aAck,
  a2aExtend,
  a2aNack,
  a2aDead,
  a2aRevive,
  a2aBroadcast,
  a2aHistory,
  a2aMessages,
  a2aTasks,
  a2aWatch
]
