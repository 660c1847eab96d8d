interface Processor {
  readonly type?: unknown
  readonly processors?: unknown
  readonly single?: unknown
}

interface TemplatePart {
  readonly SpecialToken?: { readonly id?: unknown }
}

/**
 * Returns the names of the special tokens that a tokenizer adds before every text, from its post-processor or
 * configuration; none if the configuration disables them.
 */
export function beginningNames(postProcessor: unknown, configuration: Readonly<Record<string, unknown>>): string[] {
  const { add_bos_token: addsToken, bos_token: token } = configuration
  if (addsToken === false) return []
  const template = flatten(postProcessor).find(({ type }) => type === 'TemplateProcessing')
  if (template !== undefined && Array.isArray(template.single)) return namesBefore(template.single)
  const name = typeof token === 'object' && token !== null ? (token as { content?: unknown }).content : token
  return addsToken === true && typeof name === 'string' ? [name] : []
}

function namesBefore(parts: readonly TemplatePart[]): string[] {
  const text = parts.findIndex(part => part.SpecialToken === undefined)
  const names = parts.slice(0, text === -1 ? parts.length : text).map(part => part.SpecialToken?.id)
  return names.filter(name => typeof name === 'string')
}

function flatten(value: unknown): Processor[] {
  if (typeof value !== 'object' || value === null) return []
  const processor = value as Processor
  if (processor.type !== 'Sequence' || !Array.isArray(processor.processors)) return [processor]
  return processor.processors.flatMap(flatten)
}
