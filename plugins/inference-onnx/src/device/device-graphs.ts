export const deviceGraphsChoices = ['auto', 'on', 'off'] as const

/**
 * Whether recurring runs are captured and replayed on a device. `auto`: on devices on which this is known to work.
 */
export type DeviceGraphsChoice = (typeof deviceGraphsChoices)[number]

export function capturesRuns(choice: DeviceGraphsChoice, device: 'cuda' | 'webgpu'): boolean {
  return choice === 'on' || (choice === 'auto' && device === 'webgpu')
}
