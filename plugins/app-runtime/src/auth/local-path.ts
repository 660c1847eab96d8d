/** Returns a path of this origin; `/` for anything else, such as an address of another site. */
export function localPath(path: string | null): string {
  if (path === null || !/^\/(?![/\\])[\x21-\x7e]*$/.test(path)) return '/'
  return path.includes('\\') ? '/' : path
}
