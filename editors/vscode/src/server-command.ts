/** A process to start: an executable and its arguments. */
export interface Command {
  readonly command: string
  readonly args: readonly string[]
}

/** Returns the process for a command of `svc`. `configured` is the setting `vox.server.command`. */
export function svcCommand(configured: readonly string[], ...args: readonly string[]): Command {
  const [command = 'svc', ...before] = configured.filter(part => part.trim() !== '')
  return { command, args: [...before, ...args] }
}
