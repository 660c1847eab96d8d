import { type Artifact, type Message, type Part, Role } from '@a2a-js/sdk'

/** Names a task and its context. */
export interface TaskRef {
  readonly id: string
  readonly context: string
}

function textPart(text: string): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}

/** Returns a message of the agent. Its id is derived from the key of its event, so that every reader sees the same. */
export function agentMessage({ id, context }: TaskRef, key: string, text: string): Message {
  return {
    messageId: `${id}:${key}`,
    contextId: context,
    taskId: id,
    role: Role.ROLE_AGENT,
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: []
  }
}

export function textArtifact(id: string, name: string, text: string): Artifact {
  return { artifactId: id, name, description: '', parts: [textPart(text)], metadata: undefined, extensions: [] }
}
