/** Audience and priority of a piece of content (MCP `Annotations`). */
export interface McpContentAnnotations {
  readonly audience?: readonly ('user' | 'assistant')[]
  /** 0 (optional) to 1 (required). */
  readonly priority?: number
  /** ISO 8601. */
  readonly lastModified?: string
}

interface Annotated {
  readonly annotations?: McpContentAnnotations
  readonly _meta?: Readonly<Record<string, unknown>>
}

export interface McpText extends Annotated {
  readonly type: 'text'
  readonly text: string
}

export interface McpImage extends Annotated {
  readonly type: 'image'
  /** Base64. */
  readonly data: string
  readonly mimeType: string
}

export interface McpAudio extends Annotated {
  readonly type: 'audio'
  /** Base64. */
  readonly data: string
  readonly mimeType: string
}

/** A resource carried inside a result. */
export interface McpEmbeddedResource extends Annotated {
  readonly type: 'resource'
  readonly resource: McpResourceContents
}

/** A resource that the client may read. */
export interface McpResourceLink extends Annotated {
  readonly type: 'resource_link'
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
}

/** One block of a tool result or of a prompt message. */
export type McpContent = McpText | McpImage | McpAudio | McpEmbeddedResource | McpResourceLink

/** Text, or base64 bytes as `blob`. */
export type McpResourceContents = {
  readonly uri: string
  readonly mimeType?: string
  readonly _meta?: Readonly<Record<string, unknown>>
} & ({ readonly text: string } | { readonly blob: string })

export interface McpIcon {
  readonly src: string
  readonly mimeType?: string
  readonly sizes?: readonly string[]
}
