import { findExecutable } from '#root'

const isOff = ['0', 'false', 'no', 'n', 'off'].includes((process.env.SVC_GUI_PLAYWRIGHT ?? '').trim().toLowerCase())

/** Reason why pages cannot be opened on this machine; false if they can. */
export const missing: string | false = isOff
  ? 'SVC_GUI_PLAYWRIGHT is off'
  : await findExecutable(undefined, '/').then(
      () => false as const,
      (error: Error) => error.message
    )
