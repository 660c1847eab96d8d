import { channelAddress } from './channel-address.ts'

export const cratesIo = {
  crates_io_api_base: channelAddress('https://crates.io', 'Base address of crates.io.')
} as const
