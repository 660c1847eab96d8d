import { all } from 'known-css-properties'

let known: ReadonlySet<string> | undefined

/** True if browsers know the property, in lower case with dashes. Custom properties begin with two dashes. */
export function isCssProperty(name: string): boolean {
  known ??= new Set(all)
  return /^--./.test(name) || known.has(name)
}
