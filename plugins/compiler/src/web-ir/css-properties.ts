import { all } from 'known-css-properties'

let known: ReadonlySet<string> | undefined

/** Whether browsers have a property, in lower case with dashes. Those of an author begin with two. */
export function isCssProperty(name: string): boolean {
  known ??= new Set(all)
  return /^--./.test(name) || known.has(name)
}
