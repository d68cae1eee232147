package collectd

// Signed and encrypted parts. Both name a user whose password is known on both sides. Neither keeps somebody from sending
// a packet again that he has seen: the store takes it for the same samples.

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"

	"cistern/services/store/tsdb"
)

// verify checks a signature: HMAC-SHA-256, then the user's name up to the part's end. Signed are the name and all that
// follows in the packet.
func verify(content, rest []byte, users map[string]string) tsdb.Reason {
	if len(content) <= sha256.Size {
		return BadPacket
	}
	signature, user := content[:sha256.Size], content[sha256.Size:]
	password, reason := passwordOf(user, users)
	if reason != "" {
		return reason
	}
	mac := hmac.New(sha256.New, []byte(password))
	mac.Write(user)
	mac.Write(rest)
	if !hmac.Equal(mac.Sum(nil), signature) {
		return BadSignature
	}
	return ""
}

// decrypt is what an encrypted part holds: two bytes of length and the user's name, 16 bytes of initialisation vector,
// then encrypted the SHA-1 of the parts and the parts.
func decrypt(content []byte, users map[string]string) (parts []byte, reason tsdb.Reason) {
	if len(content) < 2 {
		return nil, BadPacket
	}
	n := int(binary.BigEndian.Uint16(content))
	content = content[2:]
	if n == 0 || len(content) < n+aes.BlockSize+sha1.Size {
		return nil, BadPacket
	}
	user, vector, hidden := content[:n], content[n:n+aes.BlockSize], content[n+aes.BlockSize:]
	password, reason := passwordOf(user, users)
	if reason != "" {
		return nil, reason
	}
	key := sha256.Sum256([]byte(password))
	block, err := aes.NewCipher(key[:])
	if err != nil { // 32 bytes are a key
		return nil, BadSignature
	}
	plain := outputFeedback(block, vector, hidden)
	sum := sha1.Sum(plain[sha1.Size:])
	if subtle.ConstantTimeCompare(sum[:], plain[:sha1.Size]) != 1 {
		return nil, BadSignature
	}
	return plain[sha1.Size:], ""
}

// outputFeedback en- and decrypts: the key stream is the vector, encrypted again and again. The standard library's own
// has no future because it does not authenticate; the protocol wants it.
func outputFeedback(block cipher.Block, vector, text []byte) []byte {
	out := make([]byte, len(text))
	var stream [aes.BlockSize]byte
	copy(stream[:], vector)
	for at := 0; at < len(text); at += aes.BlockSize {
		block.Encrypt(stream[:], stream[:])
		subtle.XORBytes(out[at:], text[at:], stream[:])
	}
	return out
}

func passwordOf(user []byte, users map[string]string) (string, tsdb.Reason) {
	if len(users) == 0 {
		return "", NoUsers
	}
	password, known := users[string(user)]
	if !known {
		return "", UnknownUser
	}
	return password, ""
}
