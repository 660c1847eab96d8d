/** Returns the first line of a generated module. */
export function header(sourceName: string): string {
  return `// Generated from ${sourceName}.vox by svc build; the next build overwrites it.\n`
}
