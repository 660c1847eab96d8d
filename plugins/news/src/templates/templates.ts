/** Templates of the summary that channels derive their texts from. `{{key}}` is replaced by a value. */
export const TEMPLATES = {
  research_update: 'Research update: {{title}}. {{summary}}',
  release: '{{title}} is out. {{summary}}',
  security_advisory: 'Security advisory: {{title}}. Affected: {{affected}}. Fixed in: {{fixed_in}}. {{summary}}',
  community_update: 'From the community: {{title}}. {{summary}}',
  discord_announcement: '**{{title}}**\n{{summary}}\n{{link}}'
} as const

export type TemplateName = keyof typeof TEMPLATES

export function isTemplate(name: string): name is TemplateName {
  return Object.hasOwn(TEMPLATES, name)
}

const PLACEHOLDER = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g

/** Keys that every template may use, in addition to the values of the item. */
export const BUILT_IN_KEYS = ['id', 'title', 'author', 'date', 'summary', 'link', 'tags'] as const

/** Returns the keys that a template uses. */
export function keysOf(template: string): readonly string[] {
  return [...new Set([...template.matchAll(PLACEHOLDER)].map(match => match[1] ?? ''))]
}

/** Replaces placeholders in one pass, so that values are not templates themselves. Unknown keys stay as they are. */
export function fillTemplate(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(PLACEHOLDER, (whole, key: string) =>
    Object.hasOwn(values, key) ? (values[key] ?? '') : whole
  )
}
