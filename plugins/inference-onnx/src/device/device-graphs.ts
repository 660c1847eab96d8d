export const deviceGraphsChoices = ['auto', 'on', 'off'] as const

/**
 * Capture and replay of recurring runs on a device. `auto`: on devices where it is known to work.
 */
export type DeviceGraphsChoice = (typeof deviceGraphsChoices)[number]

export function capturesRuns(choice: DeviceGraphsChoice, device: 'cuda' | 'webgpu'): boolean {
  return choice === 'on' || (choice === 'auto' && device === 'webgpu')
}
